import type { Candidate } from '#bundles/candidate';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Layout } from '#bundles/layout/layout';
import type { CandidateSource } from '#bundles/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root';
import type { Application } from './bundle/application.ts';
import { type BuiltBundle, buildBundle } from './bundle/build-bundle.ts';
import { type LastGood, NO_LAST_GOOD, readLastGood } from './bundle/last-good-packages.ts';
import type { ManifestCache } from './bundle/prepare-manifest.ts';
import { bundlesApplication, readApplication } from './bundle/read-application.ts';
import type { PullImage } from './bundle/resolve-images.ts';
import type {
  Assignment,
  DeploymentTarget,
  Platform,
  RenderedPackage,
  SourceSnapshot,
} from './platform/model.ts';
import type { Sources } from './platform/sources/open-sources.ts';
import { renderAll } from './render/render-all.ts';
import { schedulePlatform } from './schedule/schedule-platform.ts';

export type EnvironmentBuild = {
  readonly platform: Platform;
  readonly bundles: readonly BuiltBundle[];
  readonly candidate: Candidate;
  readonly sources: readonly CandidateSource[];
  readonly advice: readonly FleetError[];
};

export type EnvironmentInput = {
  readonly platform: Platform;
  readonly sources: Sources;
  /** Layout with images; 'unchecked' where nothing is released and it does not matter. */
  readonly images: BlobSource | 'unchecked' | undefined;
  /** Registries, where images may be taken from them. */
  readonly pull?: PullImage | undefined;
  /** The layout that is written to, where images are that were pulled before. */
  readonly pulled?: BlobSource | undefined;
  /** A layout with releases whose packages stand in for what is held. */
  readonly previous: { readonly layout: Layout; readonly root: TrustRoot } | undefined;
  readonly workers: number;
};

/** Schedule, render and bundle one environment: everything but signing. Same input, same bytes, however many workers. */
export const buildEnvironment = async (
  input: EnvironmentInput,
  signal: AbortSignal,
): Promise<EnvironmentBuild> => {
  const { platform } = input;
  const schedule = schedulePlatform(platform);
  const { packages, held } = await renderAll(platform, schedule, input.workers, signal);
  const applications = await readApplications(input, packages);
  const bundles: BuiltBundle[] = [];
  const manifests: ManifestCache = new Map();
  const byType = <T extends { readonly assignment: Assignment }>(items: readonly T[]) =>
    Map.groupBy(items, ({ assignment }) => assignment.clusterType.name);
  const [packagesOf, heldOf] = [byType(packages), byType(held)];
  for (const clusterType of platform.clusterTypes) {
    signal.throwIfAborted();
    const lastGood = await lastGoodOf(input, clusterType);
    bundles.push(
      await buildBundle(
        {
          platform,
          clusterType,
          packages: packagesOf.get(clusterType.name) ?? [],
          held: heldOf.get(clusterType.name) ?? [],
          applicationOf: applications.of,
          lastGood,
          images: imageSources(input),
          pull: input.pull,
          manifests,
        },
        signal,
      ),
    );
  }
  const sources = [...platform.sources, ...applications.snapshots].map(toCandidateSource);
  return {
    platform,
    bundles,
    candidate: candidateOf(platform, sources, bundles),
    sources,
    advice: schedule.advice,
  };
};

/** A package that is kept from the release before runs the images of then, and those lie beside it. */
const imageSources = ({ images, previous, pulled }: EnvironmentInput): readonly BlobSource[] | 'unchecked' =>
  images === 'unchecked'
    ? images
    : [images, previous?.layout.blobs, pulled].filter((source) => source !== undefined);

const lastGoodOf = async (
  { previous, platform }: EnvironmentInput,
  clusterType: BuiltBundle['clusterType'],
): Promise<LastGood> =>
  previous
    ? await readLastGood(previous.layout, previous.root, platform.environment, clusterType)
    : NO_LAST_GOOD;

type Applications = {
  readonly of: (rendered: RenderedPackage) => Application | undefined;
  readonly snapshots: readonly SourceSnapshot[];
};

/** Each deployment target's files once; one that cannot be read holds its own packages and no others. */
const readApplications = async (
  { platform, sources }: EnvironmentInput,
  packages: readonly RenderedPackage[],
): Promise<Applications> => {
  const wanted = new Set(
    packages
      .filter(({ assignment }) => bundlesApplication(assignment.clusterType))
      .map(({ assignment }) => assignment.target),
  );
  const read = new Map<DeploymentTarget, Application | FleetError>();
  const snapshots: SourceSnapshot[] = [];
  for (const target of wanted) {
    try {
      const { application, snapshot } = await readApplication(sources, platform, target);
      read.set(target, application);
      snapshots.push(snapshot);
    } catch (error) {
      const known = toFleetError(error, `reading the files of ${target.name}`);
      if (known.code === 'INTERNAL' || known.code === 'ABORTED') throw known;
      read.set(target, withPlace(known, target));
    }
  }
  return {
    of: ({ assignment }) => {
      const found = read.get(assignment.target);
      if (found instanceof FleetError) throw found;
      return found;
    },
    snapshots,
  };
};

/** The line to repair is the one that names the files. */
const withPlace = (error: FleetError, target: DeploymentTarget): FleetError =>
  error.at
    ? error
    : new FleetError(error.code, error.message, {
        subject: target.name,
        at: target.at,
        hint: error.hint,
        cause: error,
      });

const toCandidateSource = ({
  role,
  repo,
  path,
  tree,
  ref,
  commit,
  directory,
}: SourceSnapshot): CandidateSource => ({
  role,
  // Where a directory lay on the builder's machine is nobody's business and would differ between machines.
  repo: repo === directory || directory.startsWith(repo) ? `directory:${role}` : repo,
  path,
  tree: parseDigest(tree, 'tree'),
  ...(ref === undefined ? {} : { ref }),
  ...(commit === undefined ? {} : { commit }),
});

const candidateOf = (
  platform: Platform,
  sources: readonly CandidateSource[],
  bundles: readonly BuiltBundle[],
): Candidate => {
  const images = new Map<string, Digest>();
  for (const { entry } of bundles.flatMap((it) => it.images)) {
    for (const name of entry.names ?? []) images.set(name, entry.digest);
  }
  return {
    fleet: platform.fleet,
    sources: sources.toSorted((a, b) => compareBytes(a.role, b.role)),
    images: [...images]
      .map(([name, digest]) => ({ name, digest }))
      .toSorted((a, b) => compareBytes(a.name, b.name)),
    charts: [],
  };
};
