import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { type FleetError, isFleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { checkRootExpiry } from '#bundles/trust/root/root';
import { sharedDigest } from '../assemble/candidate/shared-digest.ts';
import { checkFleet } from '../assemble/candidate/check-candidate.ts';
import type { GivenCandidate } from '../assemble/candidate/given-candidate.ts';
import { lockedSources } from '../assemble/candidate/locked-sources.ts';
import { environmentsOf } from '../load/list-environments.ts';
import { sourcesOf } from '../load/load-platform.ts';
import { eachOnce, throwProblems } from '../model/problems.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import type { Promoted, RolloutPolicy } from '../model/promotion.ts';
import { checkShared } from '../release/chain/check-shared.ts';
import { keepReleases } from './keep-releases.ts';
import {
  cannotBuildPromoted,
  lineageOf,
  loadPolicies,
  openChain,
  type Place,
  type Policies,
} from '../release/chain/open-chain.ts';
import { chooseEnvironments, newestRoot, openRoot } from './open-root.ts';
import { type MakeInputs, type MakeOptions, makeEnvironment, signaturePlaces } from './make-environment.ts';
import { openReleases, type Releases } from '../release/publish/open-releases.ts';
import { type ChannelOutcome, publishEnvironment } from './publish-environment.ts';
import { noteAbandoned } from '../release/removals/abandoned.ts';
import { keepUnmeant } from '../release/removals/keep-unmeant.ts';
import { type Allowance, NO_ALLOWANCE } from '../settings/allowance.ts';
import { checkSigners, type KeyDirectory } from '../keys/key-directory.ts';

export type BuildOptions = MakeOptions & {
  /** Fleet name for Kalypso repositories. */
  readonly fleet?: string;
  /** Default: all. */
  readonly environments?: readonly string[];
  readonly keys: KeyDirectory;
  /** OCI layout with the images that manifests name. */
  readonly images?: string;
  /** OCI layout whose releases supply the last good package of each held assignment. */
  readonly previous?: string;
  /** Removals to allow although no object was deleted. Default: none. */
  readonly allowRemovals?: Allowance;
  readonly now: Date;
  /** Called once the releases of an environment are in the layout; for environments with problems, after all others. */
  readonly onEnvironment?: (outcome: EnvironmentOutcome) => void;
};

export type EnvironmentOutcome = {
  readonly environment: string;
  /** Digest of the candidate document; undefined if the environment was not built. */
  readonly candidate?: Digest;
  readonly channels: readonly ChannelOutcome[];
  /** Applications whose repositories cannot be read. Sites keep the packages of their workspaces. */
  readonly heldWorkloads: readonly {
    readonly registration: string;
    readonly errors: readonly FleetError[];
  }[];
  readonly advice: readonly FleetError[];
  /** Errors in the platform's own objects. If there is one, the environment was not built. */
  readonly problems: readonly FleetError[];
  /** The promotion to the environment, if it is chained. */
  readonly promoted?: Promoted;
  /** NOT_PROMOTED: the environment was not built, and its releases were renewed where that was due. */
  readonly waits?: FleetError;
};

export type BuildOutcome = {
  readonly environments: readonly EnvironmentOutcome[];
  readonly channels: readonly ChannelOutcome[];
  readonly advice: readonly FleetError[];
};

/**
 * Builds and releases: load → compose → schedule → render → bundle → sign → write, for the chosen environments, all from one
 * snapshot of every repository. A channel whose bundle did not change gets no new release. An environment that cannot be
 * loaded is reported in its outcome and does not stop the others.
 * @throws FleetError BUSY while another process writes the layout; USAGE if platform and keys belong to different fleets;
 *   PLATFORM_INVALID for an unknown environment; ROOT_EXPIRED, KEY_MISSING, LAYOUT_INVALID; and the platform's first problem
 *   if no environment could be loaded
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
  const newest = candidate
    ? await newestRoot(options, unlocked, () => sourcesOf({ ...options, staleOk: 'gone' }))
    : { root, sources: unlocked };
  const policies = await loadPolicies(newest.sources, newest.root);
  const chain = await openChain({
    root: newest.root,
    policies: async () => policies,
    layout: options.layout,
    roots: keys.roots,
    signal,
  });
  const previous = options.previous === undefined ? undefined : await openLayout(options.previous);
  const rolloutPolicies = rolloutPoliciesOf(policies);
  const images = options.images === undefined ? undefined : await openLayout(options.images);
  const signatures = signaturePlaces(options, [images, previous]);
  using releases = await openReleases(options.layout, { command: 'build', now });
  const outcomes: EnvironmentOutcome[] = [];
  // Advice about a chain that could only be read in its last known state: reported once, with the first environment.
  let remarks = newest.sources === unlocked ? [] : (newest.sources.remarks?.() ?? []);
  for (const environment of environments) {
    signal.throwIfAborted();
    const built = await buildPlace(options, environment, {
      place: await chain?.placeOf(environment, candidate),
      unlocked,
      sources: viewFor(environment),
      images,
      previous,
      signatures,
      releases,
      rolloutPolicy: rolloutPolicies.find((policy) => policy.environment === environment),
    });
    const outcome = { ...built, advice: [...built.advice, ...remarks] };
    remarks = [];
    outcomes.push(outcome);
    if (outcome.problems.length === 0) options.onEnvironment?.(outcome);
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  if (failed.length === outcomes.length)
    throwProblems(eachOnce(failed.flatMap(({ problems }) => problems)), 'the platform');
  for (const outcome of failed) options.onEnvironment?.(outcome);
  if (!candidate) await noteAbandoned(releases, environmentsOf(root), outcomes);
  return {
    environments: outcomes,
    channels: outcomes.flatMap(({ channels }) => channels),
    advice: outcomes.flatMap(({ advice }) => advice),
  };
};

const environmentOf = (candidate: GivenCandidate | undefined): readonly string[] | undefined =>
  candidate?.document.environment === undefined ? undefined : [candidate.document.environment];

/**
 * @throws FleetError the first mistake that may be in a RolloutPolicy: without its policy a release would reach all agents at
 * once
 */
const rolloutPoliciesOf = ({ promotion, problems }: Policies): readonly RolloutPolicy[] => {
  const others = /^(PromotionPolicy|FreshnessPolicy) /;
  throwProblems(
    problems.filter(({ subject = '' }) => !others.test(subject)),
    'the platform',
  );
  return promotion.rolloutPolicies;
};

type Inputs = MakeInputs & {
  /** Its place in the chain; undefined in a platform without one. */
  readonly place: Place | undefined;
  /** Reads the newest state. */
  readonly unlocked: Sources;
  readonly releases: Releases;
  readonly rolloutPolicy: RolloutPolicy | undefined;
};

/** Builds one environment by its place in the chain. Without a promotion, only renews its releases. */
const buildPlace = async (
  options: BuildOptions,
  environment: string,
  inputs: Inputs,
): Promise<EnvironmentOutcome> => {
  const { place, unlocked, releases } = inputs;
  const nothing = { environment, channels: [], heldWorkloads: [], advice: [], problems: [] };
  switch (place?.kind) {
    case undefined:
      return await buildOne(options, environment, inputs);
    case 'newest': {
      const candidate = place.submitted;
      if (!candidate) return await buildOne(options, environment, inputs);
      const sources = lockedSources(unlocked, candidate, environment);
      try {
        return await buildOne({ ...options, candidate }, environment, { ...inputs, sources });
      } catch (error) {
        // The submitted sources no longer exist. The other environments are built.
        if (!isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
        await keepReleases(releases, environment, options);
        return { ...nothing, problems: [error] };
      }
    }
    case 'invalid':
      return { ...nothing, problems: place.problems };
    case 'waiting':
      return {
        ...nothing,
        waits: place.why,
        channels: await keepReleases(releases, environment, options),
      };
    case 'promoted': {
      const { candidate, promoted } = place;
      const sources = place.sourcesOf(unlocked);
      try {
        return {
          ...(await buildOne({ ...options, candidate }, environment, { ...inputs, sources })),
          promoted,
        };
      } catch (error) {
        // A directory has no history, so promoted content may be gone. Its releases stay.
        if (options.candidate || !isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
        const waits = cannotBuildPromoted(environment, error);
        const channels = await keepReleases(releases, environment, options);
        return { ...nothing, promoted, waits, channels };
      }
    }
  }
};

const buildOne = async (
  options: BuildOptions,
  environment: string,
  { place, releases, rolloutPolicy, ...inputs }: Inputs,
): Promise<EnvironmentOutcome> => {
  const made = await makeEnvironment(options, environment, {
    ...inputs,
    store: releases.blobs,
    isPromoted: place?.kind === 'promoted',
  });
  if ('problems' in made)
    return { environment, channels: [], heldWorkloads: [], advice: [], problems: made.problems };
  const { built, unmeant } = await keepUnmeant(made, await releases.open(), {
    roots: options.keys.roots,
    signal: options.signal,
    allowance: options.allowRemovals ?? NO_ALLOWANCE,
  });
  if (place?.kind === 'promoted' && options.candidate)
    checkShared(options.candidate, built.candidate, built.platform);
  const lineage = place && lineageOf(place, sharedDigest(built.candidate));
  return {
    environment,
    candidate: digestOf(canonicalBytes(built.candidate)),
    channels: await publishEnvironment(built, releases, {
      ...options,
      rolloutPolicy,
      unmeant,
      ...(lineage && { lineage }),
    }),
    heldWorkloads: (built.platform.heldWorkloads ?? []).map(({ registration, errors }) => ({
      registration,
      errors,
    })),
    advice: built.advice,
    problems: [],
  };
};
