import { type FleetError, toFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import type { BlobSource, BlobStore } from '#bundles/formats/layout/blobs';
import type { Layout } from '#bundles/formats/layout/layout';
import type { TrustRoot } from '#bundles/trust/root/root';
import { NO_LOCKS } from '../model/content-locks.ts';
import { openTools } from '../load/applications/tools/find-tool.ts';
import { type PinnedTools, pinTools } from '../load/applications/tools/pin-tools.ts';
import { loadApplications, type Applications } from '../load/applications/load-applications.ts';
import { type BuiltBundle, type BundleInput, buildBundle } from '../assemble/bundle/build-bundle.ts';
import { readRolledBack, type RollbackPlace } from '../assemble/bundle/rolled-back.ts';
import { type LastGood, NO_LAST_GOOD, readLastGood } from '../assemble/bundle/last-good-packages.ts';
import type { ImageOrigin, PullImage } from '../assemble/images/resolve-images.ts';
import { resolveOnce } from '../assemble/images/resolve-once.ts';
import { plainSecrets } from '../assemble/bundle/secret-documents.ts';
import {
  checkCandidate,
  checkRest,
  checkSources,
  checkTools,
} from '../assemble/candidate/check-candidate.ts';
import { type GivenCandidate, isOwn } from '../assemble/candidate/given-candidate.ts';
import { listSources } from '../assemble/candidate/list-sources.ts';
import { makeCandidate } from '../assemble/candidate/make-candidate.ts';
import { openRegistrations } from '../assemble/candidate/open-registrations.ts';
import { type LastTools, pinnedRenderers } from '../assemble/candidate/pinned-renderers.ts';
import { type Charts, openCharts } from '../load/charts/charts.ts';
import { noCharts } from '../load/charts/no-charts.ts';
import type { Contents } from '../assemble/content/content.ts';
import { contentAccess } from '../assemble/content/content-access.ts';
import { noContents } from '../assemble/content/no-contents.ts';
import { type BuildMemory, memoryOf } from '../assemble/incremental/build-memory.ts';
import { internPlatform } from '../assemble/incremental/intern-platform.ts';
import { keepBundle, reuseBundle } from '../assemble/incremental/reuse-bundle.ts';
import { internApplications, startBuild } from '../assemble/incremental/start-build.ts';
import type { Assignment, ClusterType, Platform, RenderedPackage } from '../model/model.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import { renderAll } from '../render/render-all.ts';
import type { RenderedEnvironment } from '../render/render-environment.ts';
import { firstOfEachField } from '../assemble/images/first-of-each-field.ts';
import { withPlace } from '../model/with-place.ts';
import { schedulePlatform } from '../plan/schedule/schedule-platform.ts';
import type { EvidencePlace } from '../assemble/images/signatures/evidence-place.ts';
import type { Vouching } from '../assemble/images/signatures/vouch-images.ts';
import { createObjectCheck } from '../plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../plan/validate/kubernetes/custom-kinds.ts';
import { definitionFiles } from '../plan/validate/kubernetes/definition-files.ts';
import type { BundleHolds, EnvironmentBuild } from '../assemble/environment-build.ts';
import { judgeFor } from './judge-for.ts';
import { unknownKinds } from '../plan/validate/kubernetes/unknown-kinds.ts';

export type EnvironmentInput = {
  readonly platform: Platform;
  /** The schedule and the rendered packages, if they were computed before. */
  readonly rendered?: Pick<RenderedEnvironment, 'schedule' | 'result'> | undefined;
  readonly sources: Sources;
  /** Layout with images; 'unchecked' if nothing is released, so that images need not exist. */
  readonly images: BlobSource | 'unchecked' | undefined;
  /** Pulls images from registries; undefined: images are not pulled. */
  readonly pull?: PullImage | undefined;
  /** The output layout, which has the images of earlier builds. */
  readonly pulled?: BlobSource | undefined;
  /** As `pulled`, for a build that releases: it gets the blobs of every image before its package counts as built; undefined: blobs are not copied. */
  readonly store?: BlobStore | undefined;
  /** Places to look for image signatures, in this order. Default: none. */
  readonly signatures?: readonly EvidencePlace[] | undefined;
  /** A layout whose releases supply the last good packages of held assignments. */
  readonly previous: { readonly layout: Layout; readonly roots: readonly TrustRoot[] } | undefined;
  /** Assignments that people took back to an earlier package. Default: none. */
  readonly rollbacks?: RollbackPlace | undefined;
  /** Bundles made at the same time: one is compressed while the next is put together. */
  readonly workers: number;
  /** Results kept between builds. They do not affect the output. */
  readonly memory?: BuildMemory | undefined;
  /** Range of Kubernetes versions to judge objects for, instead of the versions of the cluster types. */
  readonly kubernetes?: string | undefined;
  /** Charts that are not in a repository of the fleet; undefined: none. */
  readonly charts?: Charts | undefined;
  /** Downloaded files that host packages name; undefined: none. */
  readonly contents?: Contents | undefined;
  /**
   * Candidate that the sources are taken from. In another environment than its own, the layer of that environment is read as it
   * is now.
   */
  readonly candidate?: GivenCandidate | undefined;
  /** Programs that rendered the last release; asked only if one is needed and nothing else pins it. */
  readonly lastTools?: LastTools | undefined;
  /** Environment whose PATH is searched for rendering programs; default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
};

/** Schedules, renders and bundles one environment without signing. The output does not depend on the number of workers. */
export const buildEnvironment = async (
  input: EnvironmentInput,
  signal: AbortSignal,
): Promise<EnvironmentBuild> => {
  const { candidate: given } = input;
  const memory = input.memory && memoryOf(input.memory, input.platform);
  const platform = internPlatform(memory?.platform, input.platform);
  const again = given && isOwn(given, platform.environment) ? given : undefined;
  const lastGoods = new Map<ClusterType, LastGood>();
  for (const clusterType of platform.clusterTypes)
    lastGoods.set(clusterType, await lastGoodOf(input, clusterType, again));
  const past = new Map([...lastGoods.values()].flatMap(({ targets }) => targets).map((one) => [one.id, one]));
  const schedule = input.rendered?.schedule ?? schedulePlatform(platform, past);
  const { packages, held } =
    input.rendered?.result ?? (await renderAll(platform, schedule, signal, memory?.rendered));
  // A candidate that is built again is compared with the exact versions below.
  const pinned: PinnedTools = again ? () => undefined : pinnedRenderers(given, platform, input.lastTools);
  const tools = pinTools(openTools(input.env ?? process.env, signal), pinned);
  const charts = input.charts ?? openCharts(noCharts);
  const applications = await loadApplications(
    { platform, sources: input.sources, packages, tools, charts },
    signal,
  );
  const contents = contentAccess(
    {
      contents: input.contents ?? noContents,
      charts,
      tools,
      locks: platform.contentLocks ?? NO_LOCKS,
      imageLocks: platform.imageLocks,
    },
    signal,
  );
  const { sources, whyNot } = listSources(
    [...platform.sources, ...applications.snapshots],
    packages.map(({ assignment }) => assignment.target),
  );
  const listedApplicationOf = (rendered: RenderedPackage) => {
    const { target } = rendered.assignment;
    const wrong = whyNot(target);
    if (wrong) throw withPlace(wrong, target.at, target.name);
    return applications.of(rendered);
  };
  if (given) {
    const why = whyUnread(platform, packages, applications);
    checkSources(given, sources, platform.environment, again !== undefined, why);
  }
  if (again) checkTools(again, applications.tools);
  const applicationOf = memory ? internApplications(memory, listedApplicationOf) : listedApplicationOf;
  const definitions = definitionFiles(platform, packages, applicationOf);
  const objects = createObjectCheck(readCustomKinds(definitions));
  const manifests = memory ? startBuild(memory, platform, definitions) : new Map();
  const origin = imageOrigin(input);
  const resolve =
    origin && resolveOnce(origin, signal, vouchingOf(input, platform), platform.imageAttachments);
  const byType = <T extends { readonly assignment: Assignment }>(items: readonly T[]) =>
    Map.groupBy(items, ({ assignment }) => assignment.clusterType.name);
  const [packagesOf, heldOf] = [byType(packages), byType(held)];
  const readers = allReaders([...lastGoods.values()]);
  const bundleOf = async (clusterType: ClusterType, holds?: BundleHolds): Promise<BuiltBundle> => {
    signal.throwIfAborted();
    const bundleInput: BundleInput = {
      platform,
      clusterType,
      packages: packagesOf.get(clusterType.name) ?? [],
      held: heldOf.get(clusterType.name) ?? [],
      applicationOf,
      lastGood: lastGoods.get(clusterType) ?? NO_LAST_GOOD,
      readers,
      ...(input.previous && {
        registrationOf: openRegistrations(
          input.previous,
          { environment: platform.environment, clusterType: clusterType.name },
          signal,
        ),
      }),
      rolledBack: await readRolledBack(input.rollbacks, platform.environment, clusterType, again?.document),
      resolve,
      contents,
      manifests,
      judge: judgeFor(objects, clusterType, input.kubernetes),
    };
    if (holds) return await buildBundle({ ...bundleInput, holds }, signal);
    const same = memory && (await reuseBundle(memory, bundleInput));
    if (same) return same;
    const built = await buildBundle(bundleInput, signal);
    if (memory) keepBundle(memory, bundleInput, built);
    return built;
  };
  const buildOf = (bundles: readonly BuiltBundle[]): EnvironmentBuild => {
    const made = makeCandidate({ platform, sources, bundles, applications, parent: given?.digest });
    if (again) checkRest(again, made);
    else checkCandidate(made);
    return {
      platform,
      bundles,
      candidate: again?.document ?? made,
      sources,
      advice: [
        ...schedule.advice,
        ...applications.advice,
        ...unknownKinds(bundles.flatMap(({ unknown }) => unknown)),
        ...firstOfEachField(bundles.flatMap(({ suspects }) => suspects)),
        ...plainSecrets(bundles.flatMap((built) => built.plainSecrets)),
      ],
      holding: async (holds) => {
        const rebuilt = async (one: BuiltBundle): Promise<BuiltBundle> => {
          const own = holds.get(one.clusterType.name);
          return own ? await bundleOf(one.clusterType, own) : one;
        };
        return buildOf(await inParallel(bundles, input.workers, rebuilt, signal));
      },
    };
  };
  return buildOf(
    await inParallel(platform.clusterTypes, input.workers, (clusterType) => bundleOf(clusterType), signal),
  );
};

/** A package that is kept from the previous release runs the images of that release, whose blobs are beside it in the layout. */
const imageOrigin = ({ images, previous, pulled, pull, store }: EnvironmentInput): ImageOrigin | undefined =>
  images === 'unchecked'
    ? undefined
    : {
        sources: [images, previous?.layout.blobs, pulled].filter((source) => source !== undefined),
        pull,
        store,
      };

const vouchingOf = (
  { signatures = [] }: EnvironmentInput,
  { imagePolicies: policies, imageIndexes = new Map() }: Platform,
): Vouching | undefined => policies && { policies, places: signatures, indexes: imageIndexes };

/** @param again a candidate that is built again: it names the bundle that supplied the packages of held assignments */
const lastGoodOf = async (
  { previous, platform }: EnvironmentInput,
  clusterType: BuiltBundle['clusterType'],
  again: GivenCandidate | undefined,
): Promise<LastGood> => {
  const kept = again?.document.kept?.find(
    (one) => one.clusterType === clusterType.name && one.assignment === undefined,
  )?.bundle;
  if (!previous || (again && kept === undefined)) return NO_LAST_GOOD;
  return await readLastGood(previous.layout, previous.roots, platform.environment, clusterType, kept);
};

const allReaders = (lastGoods: readonly LastGood[]): LastGood['readers'] => {
  const all = lastGoods.flatMap(({ readers }) => [...readers]);
  return new Map(
    [...Map.groupBy(all, ([input]) => input)].map(([input, found]) => [
      input,
      new Set(found.flatMap(([, workspaces]) => [...workspaces])),
    ]),
  );
};

/** Error for a role of the candidate whose files are missing: an ordinary build would hold its assignments with this error. */
const whyUnread =
  (
    { heldWorkloads = [] }: Platform,
    packages: readonly RenderedPackage[],
    applications: Pick<Applications, 'of'>,
  ) =>
  (role: string): FleetError | undefined => {
    const [, kind, name] = /^([^/]+)\/(.*)$/.exec(role) ?? [];
    if (kind === 'workload')
      return heldWorkloads.find(({ registration }) => registration === name)?.errors[0];
    if (kind !== 'application') return undefined;
    const rendered = packages.find(({ assignment }) => assignment.target.name === name);
    return rendered && errorOf(() => applications.of(rendered));
  };

const errorOf = (step: () => unknown): FleetError | undefined => {
  try {
    step();
    return undefined;
  } catch (error) {
    return toFleetError(error);
  }
};
