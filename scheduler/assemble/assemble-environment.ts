import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import { inParallel } from '#bundles/in-parallel';
import type { Applications } from '../load/applications/load-applications.ts';
import type { Assignment, ClusterType, HeldAssignment, Platform, RenderedPackage } from '../model/model.ts';
import type { DefinitionFile } from '../plan/validate/kubernetes/custom-kinds.ts';
import type { RenderResult } from '../render/render-platform.ts';
import { unknownKinds } from '../plan/validate/kubernetes/unknown-kinds.ts';
import { buildBundle } from './bundle/build-bundle.ts';
import type { BundleInput } from './bundle/bundle-input.ts';
import type { BuiltBundle } from './bundle/built-bundle.ts';
import { type LastGood, NO_LAST_GOOD } from './bundle/last-good-packages.ts';
import type { ManifestCache, ManifestJudge } from './bundle/prepared-manifest.ts';
import { plainSecrets } from './bundle/secret-documents.ts';
import { checkCandidate, checkRest } from './candidate/check-candidate.ts';
import { type GivenCandidate, isOwn } from './candidate/given-candidate.ts';
import { createCandidate } from './candidate/create-candidate.ts';
import type { ContentAccess } from './content/content-access.ts';
import type { BundleHolds, EnvironmentBuild } from './environment-build.ts';
import { firstOfEachField } from './images/first-of-each-field.ts';
import type { ResolveImages } from './images/resolve-once.ts';
import type { EnvironmentMemory } from './incremental/build-memory.ts';
import { keepBundle, reuseBundle } from './incremental/reuse-bundle.ts';
import { inputDigests } from './kept/bundle-inputs.ts';
import { canRecall, type KeptPlaces, recallBundle, rememberBundle } from './kept/recall-bundle.ts';

/** Parts of the last releases for the assignments of one cluster type that are not built. */
export type LastRelease = Pick<BundleInput, 'lastGood' | 'rolledBack' | 'registrationOf'>;

/** A planned and rendered environment, and what its applications brought. */
export type AssembleInput = {
  readonly platform: Platform;
  readonly packages: readonly RenderedPackage[];
  /** Inputs of the packages of each cluster type; undefined: not known. */
  readonly digests?: RenderResult['digests'];
  readonly held: readonly HeldAssignment[];
  /** Warnings of the phases before. */
  readonly advice: readonly FleetError[];
  readonly applications: Pick<Applications, 'tools' | 'charts'>;
  readonly applicationOf: BundleInput['applicationOf'];
  /** Of the platform and the applications. */
  readonly sources: readonly CandidateSource[];
  /** By cluster type. */
  readonly lastReleases: ReadonlyMap<ClusterType, LastRelease>;
  readonly resolve: ResolveImages | undefined;
  readonly contents: ContentAccess;
  readonly manifests: ManifestCache;
  readonly judgeOf: (clusterType: ClusterType) => ManifestJudge;
  readonly memory: EnvironmentMemory | undefined;
  /** Bundles of earlier runs; undefined: none are kept. */
  readonly kept: KeptPlaces | undefined;
  /** Files that define kinds. */
  readonly definitions: readonly DefinitionFile[];
  readonly candidate: GivenCandidate | undefined;
  /** Bundles made at the same time: one is compressed while the next is put together. */
  readonly workers: number;
};

/**
 * Makes the bundle of each cluster type, and the candidate. Nothing is signed. The output does not depend on the number of workers.
 * @throws FleetError CANDIDATE_MISMATCH if the candidate is built again and the result differs; ABORTED, DISK_FULL
 */
export const assembleEnvironment = async (
  input: AssembleInput,
  signal: AbortSignal,
): Promise<EnvironmentBuild> => {
  const inputOf = bundleInputs(input);
  const { memory } = input;
  const make = buildOrRecall(input, signal);
  const bundleOf = async (clusterType: ClusterType): Promise<BuiltBundle> => {
    signal.throwIfAborted();
    const own = inputOf(clusterType);
    const same = memory && (await reuseBundle(memory, own));
    if (same) return same;
    const built = await make(own);
    if (memory) keepBundle(memory, own, built);
    return built;
  };
  return withCandidate(input, await inParallel(input.platform.clusterTypes, input.workers, bundleOf, signal));
};

/** The bundle of an earlier run with the same inputs, or a new one, which is kept for the next run. */
const buildOrRecall = (
  input: AssembleInput,
  signal: AbortSignal,
): ((own: BundleInput) => Promise<BuiltBundle>) => {
  const { kept, platform, definitions } = input;
  if (!kept) return (own) => buildBundle(own, signal);
  const digests = inputDigests(platform, definitions);
  return async (own) => {
    const inputs = canRecall(own) ? digests.of(own) : undefined;
    const same = inputs && (await recallBundle(kept, own, inputs));
    if (same) return same;
    const built = await buildBundle(await withManifests(input, own, digests.common), signal);
    if (inputs) await rememberBundle(kept, own, inputs, built);
    return built;
  };
};

/** Adds the manifests that earlier runs prepared. A memory has those of the build before. */
const withManifests = async (
  { kept, memory }: AssembleInput,
  own: BundleInput,
  common: Digest | undefined,
): Promise<BundleInput> =>
  kept && common && !memory ? { ...own, manifests: await kept.manifests.cacheOf(common) } : own;

/**
 * The environment with packages held for reasons outside of their content: bundles that have some are made again.
 * @param holds by the name of the cluster type
 */
export const holdPackages = async (
  input: AssembleInput,
  built: EnvironmentBuild,
  holds: ReadonlyMap<string, BundleHolds>,
  signal: AbortSignal,
): Promise<EnvironmentBuild> => {
  if (holds.size === 0) return built;
  const inputOf = bundleInputs(input);
  const common = input.kept && inputDigests(input.platform, input.definitions).common;
  const bundleOf = async (one: BuiltBundle): Promise<BuiltBundle> => {
    const held = holds.get(one.clusterType.name);
    if (!held) return one;
    signal.throwIfAborted();
    const own = await withManifests(input, inputOf(one.clusterType), common);
    return await buildBundle({ ...own, holds: held }, signal);
  };
  return withCandidate(input, await inParallel(built.bundles, input.workers, bundleOf, signal));
};

const bundleInputs = (input: AssembleInput): ((clusterType: ClusterType) => BundleInput) => {
  const { platform, applicationOf, lastReleases, resolve, contents, manifests, judgeOf } = input;
  const byType = <T extends { readonly assignment: Assignment }>(items: readonly T[]) =>
    Map.groupBy(items, ({ assignment }) => assignment.clusterType.name);
  const [packagesOf, heldOf] = [byType(input.packages), byType(input.held)];
  const readers = allReaders([...lastReleases.values()].map(({ lastGood }) => lastGood));
  return (clusterType) => ({
    platform,
    clusterType,
    packages: packagesOf.get(clusterType.name) ?? [],
    pairs: input.digests?.get(clusterType)?.pairs,
    held: heldOf.get(clusterType.name) ?? [],
    applicationOf,
    ...(lastReleases.get(clusterType) ?? NO_RELEASE),
    readers,
    resolve,
    contents,
    manifests,
    judge: judgeOf(clusterType),
  });
};

const NO_RELEASE: LastRelease = { lastGood: NO_LAST_GOOD, rolledBack: new Map() };

const withCandidate = (input: AssembleInput, bundles: readonly BuiltBundle[]): EnvironmentBuild => {
  const { platform, sources, applications, candidate: given } = input;
  const again = given && isOwn(given, platform.environment) ? given : undefined;
  const made = createCandidate({ platform, sources, bundles, applications, parent: given?.digest });
  if (again) checkRest(again, made);
  else checkCandidate(made);
  return {
    platform,
    bundles,
    candidate: again?.document ?? made,
    sources,
    advice: [
      ...input.advice,
      ...unknownKinds(bundles.flatMap(({ unknown }) => unknown)),
      ...firstOfEachField(bundles.flatMap(({ suspects }) => suspects)),
      ...plainSecrets(bundles.flatMap((built) => built.plainSecrets)),
    ],
  };
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
