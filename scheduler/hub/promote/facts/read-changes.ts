import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type Layout, openLayout, openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import { formatChannel } from '#bundles/names';
import { createLimit } from '#bundles/transport/publish/limit';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { EnvironmentBuild } from '../../../assemble/environment-build.ts';
import { promotedSources } from '../../../assemble/candidate/promoted-sources.ts';
import { readCandidate } from '../../../assemble/candidate/read-candidate.ts';
import { type BuildMemory, createBuildMemory } from '../../../assemble/incremental/build-memory.ts';
import { sourcesOf } from '../../../load/load-platform.ts';
import { bundlesOf, readRelease } from '../../../load/releases/read-release.ts';
import { checkShared } from '../../../release/chain/check-shared.ts';
import { buildWithoutRelease } from '../../../build/pipeline.ts';
import { signaturePlaces } from '../../../build/load/signature-places.ts';
import {
  type BuildInputs,
  type BuildPlaces,
  withBuildInputs,
} from '../../../build/load/with-build-inputs.ts';
import type { Configuration } from '../../../settings/configuration.ts';
import { type ChangedPackage, changedPackages } from './changed-package.ts';
import { type ComparedChannel, compareReleased } from './compare-released.ts';
import type { Changes, ReadChanges } from './facts.ts';

/** @param fresh false: an answer of the last minute may be given */
export type OpenChanges = (fresh: boolean) => ReadChanges;

/** How old an answer may be that only a question is answered with. The environment's own layer may have changed since. */
const KEPT_MS = 60_000;

/**
 * Finds what a candidate changes by building the environment from it as its promotion would, without signing or writing anything. The
 * bundles are compared with the newest releases. One build at a time; the memory makes later ones cheap.
 */
export const openChanges = (
  configuration: Configuration,
  places: Pick<BuildPlaces, 'env' | 'cwd'>,
): OpenChanges => {
  const memory = createBuildMemory();
  const limit = createLimit(1);
  let last: { readonly of: string; readonly at: number; readonly changes: Changes } | undefined;
  return (fresh) => (to, candidate, signal) =>
    limit(() =>
      withBuildInputs(configuration, { ...places, signal }, async (inputs) => {
        const of = `${candidate} ${await markOf(inputs.layout, to)}`;
        const now = performance.now();
        if (!fresh && last?.of === of && now - last.at < KEPT_MS) return last.changes;
        const changes = await readChanges(inputs, memory, { to, candidate });
        last = { of, at: now, changes };
        return changes;
      }),
    );
};

/** Changes with every release of the environment. */
const markOf = async (directory: string, to: string): Promise<string> => {
  const { manifests } = await openOrStartLayout(directory);
  const own = manifests.filter((entry) => referenceOf(entry)?.startsWith(`${to}/`));
  return digestOf(JSON.stringify(own.map((entry) => [referenceOf(entry), entry.digest])));
};

/** Refusals are a reason why the changes are not known, so that nothing follows from them. @throws FleetError ABORTED */
const readChanges = async (
  inputs: BuildInputs,
  memory: BuildMemory,
  what: { readonly to: string; readonly candidate: Digest },
): Promise<Changes> => {
  try {
    return await compareBuilt(inputs, memory, what);
  } catch (error) {
    if (!isFleetError(error) || error.code === 'ABORTED') throw error;
    return { kind: 'unknown', why: `${error.code}: ${error.message}` };
  }
};

const compareBuilt = async (
  inputs: BuildInputs,
  memory: BuildMemory,
  { to, candidate }: { readonly to: string; readonly candidate: Digest },
): Promise<Changes> => {
  const { keys, signal } = inputs;
  const layout = await openOrStartLayout(inputs.layout);
  const given = await readCandidate(candidate, [layout.blobs], signal);
  const images = inputs.images === undefined ? undefined : await openLayout(inputs.images);
  const unlocked = sourcesOf({ ...inputs, staleOk: true, files: memory.files });
  const built = await buildWithoutRelease({ ...inputs, candidate: given, memory }, to, {
    sources: promotedSources(unlocked, given, to),
    isPromoted: true,
    images,
    previous: layout,
    signatures: signaturePlaces(inputs, [images, layout]),
  });
  if ('problems' in built)
    throw built.problems[0] ?? new FleetError('PLATFORM_INVALID', `${to} has problems`);
  checkShared(given, built.candidate, built.platform);
  const sides = await readSides(layout, keys.roots, built);
  const { changed, ...compared } = compareReleased(sides);
  const packages = sides.flatMap(({ channel, releasedBundles, built: bundle }) =>
    changedPackages({
      sources: built.sources,
      bundle,
      before: releasedBundles,
      ids: changed.get(channel) ?? new Set(),
    }),
  );
  const order = ({ clusterType, assignment }: ChangedPackage): string => `${clusterType}/${assignment}`;
  return {
    kind: 'known',
    ...compared,
    packages: packages.toSorted((a, b) => compareBytes(order(a), order(b))),
  };
};

type Side = ComparedChannel & {
  readonly releasedBundles: Parameters<typeof changedPackages>[0]['before'];
  readonly built: EnvironmentBuild['bundles'][number];
};

const readSides = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  { platform, bundles }: EnvironmentBuild,
): Promise<readonly Side[]> => {
  const unread = (platform.heldWorkloads ?? []).map(({ workspace }) => workspace);
  const sides: Side[] = [];
  for (const built of bundles) {
    const { clusterType, bundle, held } = built;
    const channel = { environment: platform.environment, clusterType: clusterType.name };
    const release = await readRelease(layout, channel, roots);
    const releasedBundles = [];
    for (const digest of release ? bundlesOf(release) : [])
      releasedBundles.push({ digest, config: (await readBundle(layout.blobs, digest)).config });
    sides.push({
      channel: formatChannel(channel),
      before: releasedBundles.map(({ config }) => config),
      after: bundle.config,
      held: [...held.map(({ assignment }) => assignment.target.workspace), ...unread],
      releasedBundles,
      built,
    });
  }
  return sides;
};
