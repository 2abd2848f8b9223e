import { canonicalBytes } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { assembleEnvironment, type AssembleInput, holdPackages } from '../assemble/assemble-environment.ts';
import { adviseBuilt } from '../assemble/advise-built.ts';
import { sharedDigest } from '../assemble/candidate/shared-digest.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import { memoryOf } from '../assemble/incremental/build-memory.ts';
import { internPlatform } from '../assemble/incremental/intern-platform.ts';
import { startBuild } from '../assemble/incremental/start-build.ts';
import type { RolloutPolicy } from '../model/promotion.ts';
import { schedulePlatform } from '../plan/schedule/schedule-platform.ts';
import { checkShared } from '../release/chain/check-shared.ts';
import { stagePlan } from '../release/rollout/plan-rollout.ts';
import { encodeSiteLayers } from '../load/releases/site-layers-document.ts';
import { lineageOf, type Place } from '../release/chain/open-chain.ts';
import type { Releases } from '../release/write/open-releases.ts';
import { openRemovals } from '../release/removals/find-removals.ts';
import { findUndeclared } from '../release/removals/find-undeclared.ts';
import { renderAll } from '../render/render-all.ts';
import { NO_ALLOWANCE } from '../settings/allowance.ts';
import type { BuildOptions, BundleBuildOptions } from './build-options.ts';
import { type EnvironmentOutcome, notBuilt } from './build-outcome.ts';
import { carryOut } from './carry-out/carry-out.ts';
import { decideRelease } from './decide/decide-release.ts';
import { readFacts } from './decide/read-facts.ts';
import type { EnvironmentInput } from './environment-input.ts';
import { loadEnvironment, type LoadInputs, type Problems } from './load/load-environment.ts';
import { openImages } from './load/open-images.ts';
import { openJudges } from './load/open-judges.ts';
import { readApplications } from './load/read-applications.ts';
import { readLastReleases } from './load/read-last-releases.ts';

/**
 * The phases of a build, in the order the data moves: load, plan, render, assemble, decide, carry out. Each takes what those before it
 * returned and calls none of them. Only the last one signs and writes.
 */

export type ReleaseInputs = Omit<LoadInputs, 'store' | 'isPromoted'> & {
  /** Its place in the chain; undefined in a platform without one. */
  readonly place: Place | undefined;
  readonly releases: Releases;
  readonly rolloutPolicy: RolloutPolicy | undefined;
};

/** Builds one environment and releases what changed. Problems in its YAML are in the outcome. */
export const releaseEnvironment = async (
  options: BuildOptions,
  environment: string,
  { place, releases, rolloutPolicy, ...inputs }: ReleaseInputs,
): Promise<EnvironmentOutcome> => {
  const { keys, now, signal, candidate: given, allowRemovals: allowance = NO_ALLOWANCE } = options;
  const isPromoted = place?.kind === 'promoted';
  // load
  const loaded = await loadEnvironment(options, environment, {
    ...inputs,
    store: releases.blobs,
    isPromoted,
  });
  if ('problems' in loaded) return notBuilt(environment, loaded);
  // plan, render
  const rendered = await renderLoaded(loaded, signal);
  // assemble
  const assembled = await assembleEnvironment(rendered, signal);
  const layout = await releases.open();
  const reading = { layout, roots: keys.roots, signal, allowance };
  const removalsOf = (build: EnvironmentBuild) => openRemovals(layout, build, keys.roots, signal);
  const first = removalsOf(assembled);
  const { holds, undeclared: unmeant } = await findUndeclared(assembled, { ...reading, findRemovals: first });
  const built = await holdPackages(rendered, assembled, holds, signal);
  if (isPromoted && given) checkShared(given, built.candidate, built.platform);
  const sites = options.judgeSites && (await adviseBuilt(built, options.judgeSites.enrolled));
  const aboutSites = sites ? [...sites.findings.map(({ error }) => error), ...sites.idle] : [];
  // decide
  const lineage = place && lineageOf(place, sharedDigest(built.candidate));
  const layers = encodeSiteLayers(built.platform, rolloutPolicy && stagePlan(rolloutPolicy));
  const siteLayers = layers && digestOf(layers);
  const findRemovals = built === assembled ? first : removalsOf(built);
  const facts = await readFacts(built, { ...reading, findRemovals, now, lineage, siteLayers, unmeant });
  const decided = facts.map((channel) => ({ ...channel, decision: decideRelease(channel.facts) }));
  // carry out
  const channels = await carryOut(built, decided, {
    layout,
    releases,
    keys,
    now,
    signal,
    lineage,
    rolloutPolicy,
    siteLayers: layers,
  });
  const heldWorkloads = (built.platform.heldWorkloads ?? []).map(({ registration, errors }) => ({
    registration,
    errors,
  }));
  return {
    environment,
    candidate: digestOf(canonicalBytes(built.candidate)),
    channels,
    heldWorkloads,
    advice: [...built.advice, ...aboutSites],
    problems: [],
  };
};

/** Builds one environment up to its bundles, without a decision about them. Problems in its YAML are returned. */
export const buildWithoutRelease = async (
  options: BundleBuildOptions,
  environment: string,
  inputs: LoadInputs,
): Promise<EnvironmentBuild | Problems> => {
  const loaded = await loadEnvironment(options, environment, inputs);
  return 'problems' in loaded ? loaded : await buildLoaded(loaded, options.signal);
};

/** Plans, renders and assembles a loaded environment. Nothing is signed or written. */
export const buildLoaded = async (input: EnvironmentInput, signal: AbortSignal): Promise<EnvironmentBuild> =>
  assembleEnvironment(await renderLoaded(input, signal), signal);

/** Everything that the bundles of a loaded environment are assembled from. */
const renderLoaded = async (input: EnvironmentInput, signal: AbortSignal): Promise<AssembleInput> => {
  const memory = input.memory && memoryOf(input.memory, input.platform);
  const platform = internPlatform(memory?.platform, input.platform);
  const lastReleases = await readLastReleases(input, platform, signal);
  // plan
  const past = [...lastReleases.values()].flatMap(({ lastGood }) => lastGood.targets);
  const schedule =
    input.rendered?.schedule ?? schedulePlatform(platform, new Map(past.map((one) => [one.id, one])));
  // render
  const { kept } = input;
  const before = { memory: memory?.rendered, isKnown: kept?.renderings.has };
  const { packages, held, digests } =
    input.rendered?.result ?? (await renderAll(platform, schedule, signal, before));
  // load: what the rendered packages name
  const { applications, applicationOf, sources, contents } = await readApplications(
    input,
    { platform, packages, memory },
    signal,
  );
  const { definitions, defining, judgeOf } = openJudges(platform, packages, applicationOf, input.kubernetes);
  const unknown = new Set([...defining, ...held.map(({ assignment }) => assignment.clusterType)]);
  for (const [clusterType, { rendering }] of digests ?? [])
    if (!unknown.has(clusterType)) kept?.renderings.add(rendering);
  return {
    platform,
    packages,
    digests,
    held,
    advice: [...schedule.advice, ...applications.advice],
    applications,
    applicationOf,
    sources,
    lastReleases,
    resolve: openImages(input, platform, signal),
    contents,
    manifests: memory ? startBuild(memory, platform, definitions) : new Map(),
    judgeOf,
    memory,
    kept,
    definitions,
    candidate: input.candidate,
    workers: input.workers,
  };
};
