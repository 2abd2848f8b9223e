import { isFleetError } from '#bundles/errors';
import { lockedSources } from '../assemble/candidate/locked-sources.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import { uniqueProblems, throwProblems } from '../model/problems.ts';
import { cannotBuildPromoted } from '../release/chain/open-chain.ts';
import { openReleases } from '../release/write/open-releases.ts';
import { noteAbandoned } from '../release/removals/abandoned.ts';
import type { BuildOptions } from './build-options.ts';
import { type BuildOutcome, type EnvironmentOutcome, notBuilt } from './build-outcome.ts';
import { keepReleases } from './carry-out/keep-releases.ts';
import { openFleet } from './load/open-fleet.ts';
import { type ReleaseInputs, releaseEnvironment } from './pipeline.ts';

/**
 * Builds and releases the chosen environments, one after the other (pipeline.ts), all from one snapshot of every repository. A channel
 * whose bundle did not change gets no new release. An environment that cannot be loaded is reported in its outcome and does not stop the
 * others.
 * @throws FleetError BUSY while another process writes the layout; USAGE if platform and keys belong to different fleets;
 *   PLATFORM_INVALID for an unknown environment; ROOT_EXPIRED, KEY_MISSING, LAYOUT_INVALID; and the platform's first problem
 *   if no environment could be loaded
 */
export const build = async (options: BuildOptions): Promise<BuildOutcome> => {
  const { candidate, now, signal } = options;
  const fleet = await openFleet(options);
  const { unlocked, images, previous, signatures, kept } = fleet;
  using releases = await openReleases(options.layout, { command: 'build', now });
  const outcomes: EnvironmentOutcome[] = [];
  for (const environment of fleet.environments) {
    signal.throwIfAborted();
    const built = await buildPlace(options, environment, {
      place: await fleet.placeOf(environment),
      unlocked,
      sources: fleet.sourcesOf(environment),
      images,
      previous,
      signatures,
      kept,
      releases,
      rolloutPolicy: fleet.policyOf(environment),
    });
    // Reported once, with the first environment.
    const remarks = outcomes.length === 0 ? fleet.remarks : [];
    const outcome = { ...built, advice: [...built.advice, ...remarks] };
    outcomes.push(outcome);
    if (outcome.problems.length === 0) options.onEnvironment?.(outcome);
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0);
  if (failed.length === outcomes.length)
    throwProblems(uniqueProblems(failed.flatMap(({ problems }) => problems)), 'the platform');
  for (const outcome of failed) options.onEnvironment?.(outcome);
  await fleet.keepLoaded();
  const abandoned = candidate ? [] : await noteAbandoned(releases, fleet.known, outcomes);
  return {
    environments: outcomes,
    channels: outcomes.flatMap(({ channels }) => channels),
    advice: outcomes.flatMap(({ advice }) => advice),
    abandoned,
  };
};

type Inputs = ReleaseInputs & {
  /** Reads the newest state. */
  readonly unlocked: Sources;
};

/** Builds one environment by its place in the chain. Without a promotion, only renews its releases. */
const buildPlace = async (
  options: BuildOptions,
  environment: string,
  { unlocked, ...inputs }: Inputs,
): Promise<EnvironmentOutcome> => {
  const { place, releases } = inputs;
  switch (place?.kind) {
    case undefined:
      return await releaseEnvironment(options, environment, inputs);
    case 'newest': {
      const candidate = place.submitted;
      if (!candidate) return await releaseEnvironment(options, environment, inputs);
      const sources = lockedSources(unlocked, candidate, environment);
      try {
        return await releaseEnvironment({ ...options, candidate }, environment, { ...inputs, sources });
      } catch (error) {
        // The submitted sources no longer exist. The other environments are built.
        if (!isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
        await keepReleases(releases, environment, options);
        return notBuilt(environment, { problems: [error] });
      }
    }
    case 'invalid':
      return notBuilt(environment, { problems: place.problems });
    case 'waiting':
      return notBuilt(environment, {
        waits: place.why,
        channels: await keepReleases(releases, environment, options),
      });
    case 'promoted': {
      const { candidate, promoted } = place;
      const sources = place.sourcesOf(unlocked);
      try {
        const built = await releaseEnvironment({ ...options, candidate }, environment, {
          ...inputs,
          sources,
        });
        return { ...built, promoted };
      } catch (error) {
        // A directory has no history, so promoted content may be gone. Its releases stay.
        if (options.candidate || !isFleetError(error, 'CANDIDATE_MISMATCH')) throw error;
        const waits = cannotBuildPromoted(environment, error);
        const channels = await keepReleases(releases, environment, options);
        return notBuilt(environment, { promoted, waits, channels });
      }
    }
  }
};
