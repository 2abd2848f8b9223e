import { availableParallelism } from 'node:os';
import { canonicalBytes } from '#bundles/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/layout/blob-directory';
import { type Layout, openLayout, openOrStartLayout } from '#bundles/layout/layout';
import { checkRootExpiry } from '#bundles/trust/root';
import { buildEnvironment } from './build-environment.ts';
import type { PullImage } from './bundle/resolve-images.ts';
import { checkFleet } from './candidate/check-candidate.ts';
import type { GivenCandidate } from './candidate/given-candidate.ts';
import { lockedSources } from './candidate/locked-sources.ts';
import type { Charts } from './charts/charts.ts';
import { knownCharts } from './charts/known-charts.ts';
import type { Contents } from './content/content.ts';
import { knownContents } from './content/known-contents.ts';
import type { BuildMemory } from './incremental/build-memory.ts';
import { environmentsOf } from './platform/list-environments.ts';
import type { PlatformOptions } from './platform/load-options.ts';
import { findRoot, loadPlatform, type Root, sourcesOf } from './platform/load-platform.ts';
import type { Platform } from './platform/model.ts';
import { didYouMean } from '#bundles/nearest-name';
import { eachOnce, newProblems, problemsOf, throwProblems } from './platform/problems.ts';
import type { Sources } from './platform/sources/open-sources.ts';
import { openReleases, type Releases } from './publish/open-releases.ts';
import { type ChannelOutcome, publishEnvironment } from './publish-environment.ts';
import type { Allowance } from './removals/allowance.ts';
import { checkSigners, type KeyDirectory } from './sign/key-directory.ts';
import type { EvidencePlace } from './signatures/evidence-place.ts';
import { layoutEvidence } from './signatures/layout-evidence.ts';
import { registryEvidence } from './signatures/registry-evidence.ts';

export type BuildOptions = PlatformOptions & {
  /** Fleet name for Kalypso repositories. */
  readonly fleet?: string;
  /** All when left out. */
  readonly environments?: readonly string[];
  readonly keys: KeyDirectory;
  /** OCI layout that releases are added to. */
  readonly layout: string;
  /** OCI layout that holds the images manifests name. */
  readonly images?: string;
  /** Images that are in no layout come from these registries; without it no registry is asked. */
  readonly pull?: PullImage;
  /** OCI layout whose releases stand in for what is held. */
  readonly previous?: string;
  /** Bundles made at the same time; as many as there are processors when left out. */
  readonly workers?: number;
  /** What a server keeps from build to build. */
  readonly memory?: BuildMemory;
  /** What everything is taken from; without environments only its own is built again. */
  readonly candidate?: GivenCandidate;
  /** Charts from elsewhere; without it only those that were fetched before. */
  readonly charts?: Charts;
  /** Files that hosts' packages name by address; without it only those that were fetched before. */
  readonly contents?: Contents;
  /** Packages that releases may remove although nobody deleted them; none when left out. */
  readonly allowRemovals?: Allowance;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Called when an environment is done and its releases are in the layout; for one that cannot be read, at the end. */
  readonly onEnvironment?: (outcome: EnvironmentOutcome) => void;
};

export type EnvironmentOutcome = {
  readonly environment: string;
  /** What its releases were made from; undefined where nothing was built. */
  readonly candidate?: Digest;
  readonly channels: readonly ChannelOutcome[];
  /** Applications whose repositories cannot be read: what their workspaces have at the sites stays there. */
  readonly heldWorkloads: readonly {
    readonly registration: string;
    readonly errors: readonly FleetError[];
  }[];
  readonly advice: readonly FleetError[];
  /** Why there is nothing of this environment: the platform's own objects are wrong. */
  readonly problems: readonly FleetError[];
};

export type BuildOutcome = {
  readonly environments: readonly EnvironmentOutcome[];
  readonly channels: readonly ChannelOutcome[];
  readonly advice: readonly FleetError[];
};

/**
 * The scheduler's main verb: load → compose → schedule → render → bundle → sign → write, for all environments, in one
 * snapshot of every repository. A channel whose bundle did not change gets no new release; an environment that cannot
 * be read leaves the others alone.
 * @throws FleetError when nothing can be built: the platform, the keys or the layout are wrong; BUSY while another writes
 */
export const build = async (options: BuildOptions): Promise<BuildOutcome> => {
  const { keys, now, signal } = options;
  checkRootExpiry(keys.root, now);
  await checkSigners(keys, ['bundle', 'release']);
  const { candidate } = options;
  if (candidate) checkFleet(candidate, keys.root.fleet);
  const unlocked = options.sources ?? sourcesOf(options);
  const asked = options.environments ?? environmentOf(candidate);
  const viewFor = (environment: string): Sources =>
    candidate ? lockedSources(unlocked, candidate, environment) : unlocked;
  const root = await openRoot(options, viewFor(asked?.[0] ?? ''));
  const environments = chooseEnvironments(root, asked);
  const previous = options.previous === undefined ? undefined : await openLayout(options.previous);
  const images = options.images === undefined ? undefined : await openLayout(options.images);
  const signatures = signaturePlaces(options, [images, previous]);
  using releases = await openReleases(options.layout, { command: 'build', now });
  const outcomes: EnvironmentOutcome[] = [];
  for (const environment of environments) {
    signal.throwIfAborted();
    const outcome = await buildOne(options, environment, {
      sources: viewFor(environment),
      images,
      previous,
      signatures,
      releases,
    });
    outcomes.push(outcome);
    if (outcome.problems.length === 0) options.onEnvironment?.(outcome);
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  if (failed.length === outcomes.length)
    throwProblems(eachOnce(failed.flatMap(({ problems }) => problems)), 'the platform');
  for (const outcome of failed) options.onEnvironment?.(outcome);
  return {
    environments: outcomes,
    channels: outcomes.flatMap(({ channels }) => channels),
    advice: outcomes.flatMap(({ advice }) => advice),
  };
};

/** What was found before is in the layout that is written to: it is used again, and no registry is asked for it. */
const signaturePlaces = (
  { layout, pull }: BuildOptions,
  given: readonly (Layout | undefined)[],
): readonly EvidencePlace[] => [
  ...given.flatMap((one) => (one ? [layoutEvidence(one.directory, async () => one)] : [])),
  layoutEvidence(layout, () => openOrStartLayout(layout)),
  ...(pull ? [registryEvidence(pull)] : []),
];

const environmentOf = (candidate: GivenCandidate | undefined): readonly string[] | undefined =>
  candidate?.document.environment === undefined ? undefined : [candidate.document.environment];

/** @throws FleetError of the platform's root; USAGE when it is another fleet's than the keys */
const openRoot = async (options: BuildOptions, sources: Sources): Promise<Root> => {
  const problems = newProblems();
  const root = await findRoot(options.platform, sources, problems);
  throwProblems(problems.found, 'the platform');
  const signing = options.keys.root.fleet;
  const fleet = root.form === 'fleet' ? root.fleet.name : (options.fleet ?? signing);
  if (fleet === signing) return root;
  throw new FleetError('USAGE', `the platform is fleet ${fleet}, but the keys are of fleet ${signing}`, {
    ...(root.form === 'fleet' && { at: root.fleet.at }),
    hint: 'Give the --keys of this fleet',
  });
};

/** Each once, as asked for. @throws FleetError PLATFORM_INVALID for one that the platform does not have */
const chooseEnvironments = (root: Root, asked: readonly string[] | undefined): readonly string[] => {
  const known = environmentsOf(root);
  const unknown = asked?.find((name) => !known.includes(name));
  if (unknown === undefined) return [...new Set(asked ?? known)];
  throw new FleetError('PLATFORM_INVALID', `the platform has no environment ${JSON.stringify(unknown)}`, {
    ...(root.form === 'fleet' && { at: root.fleet.at }),
    hint: `${didYouMean(unknown, known) ?? ''}It has ${known.join(', ')}`,
  });
};

type Inputs = {
  readonly sources: Sources;
  readonly images: Layout | undefined;
  readonly previous: Layout | undefined;
  readonly signatures: readonly EvidencePlace[];
  readonly releases: Releases;
};

const buildOne = async (
  options: BuildOptions,
  environment: string,
  { sources, images, previous, signatures, releases }: Inputs,
): Promise<EnvironmentOutcome> => {
  const platform = await loadOrProblems(options, environment, sources);
  if ('problems' in platform)
    return { environment, channels: [], heldWorkloads: [], advice: [], problems: platform.problems };
  const built = await buildEnvironment(
    {
      platform,
      sources,
      images: images?.blobs,
      pull: options.pull,
      signatures,
      pulled: openBlobDirectory(options.layout),
      previous: previous && { layout: previous, roots: options.keys.roots },
      candidate: options.candidate,
      charts: options.charts ?? knownCharts(options.cacheDirectory),
      contents: options.contents ?? knownContents(options.cacheDirectory),
      env: options.env,
      workers: options.workers ?? availableParallelism(),
      memory: options.memory,
    },
    options.signal,
  );
  return {
    environment,
    candidate: digestOf(canonicalBytes(built.candidate)),
    channels: await publishEnvironment(built, releases, options),
    heldWorkloads: (built.platform.heldWorkloads ?? []).map(({ registration, errors }) => ({
      registration,
      errors,
    })),
    advice: built.advice,
    problems: [],
  };
};

/** What is wrong with the YAML of one environment is no reason to keep the others back. */
const loadOrProblems = async (
  options: BuildOptions,
  environment: string,
  sources: Sources,
): Promise<Platform | { readonly problems: readonly FleetError[] }> => {
  try {
    const fleet = options.keys.root.fleet;
    return await loadPlatform({ ...options, sources, environment, fleet, holdWorkloads: true });
  } catch (error) {
    const known = toFleetError(error);
    if (known.code === 'INTERNAL' || known.code === 'ABORTED') throw known;
    return { problems: problemsOf(known) };
  }
};
