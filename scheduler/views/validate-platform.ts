import { type FleetError, formatError } from '#bundles/errors';
import { adviseBuilt } from '../assemble/advise-built.ts';
import type { EnvironmentBuild } from '../assemble/environment-build.ts';
import { environmentsOf } from '../load/list-environments.ts';
import { loadPromotion } from '../load/platform/load-promotion.ts';
import type { PlatformOptions } from '../load/platform/load-options.ts';
import { findRoot, sourcesOf } from '../load/load-platform.ts';
import { uniqueProblems, isFatal, createProblems, type Problems, problemsOf } from '../model/problems.ts';
import type { Sources } from '../load/sources/open-sources.ts';
import type { Enrolled } from '../plan/validate/sites/advise-sites.ts';
import type { SiteFinding } from '../plan/validate/sites/describe-faults.ts';
import { type Finding, type Found, groupFindings } from '../plan/validate/group-findings.ts';
import { findIdleSelectors, type IdleSelectors } from '../plan/validate/idle-selectors.ts';
import { unfitReconcilers } from '../plan/validate/reconciler-versions.ts';
import { rulesWithoutAgent } from '../plan/validate/rules-without-agent.ts';
import { checkRange, unjudgedTypes } from '../plan/validate/kubernetes/unjudged-types.ts';
import { createMissingFinder, type MissingValue } from '../plan/validate/missing-values.ts';
import { type BuiltEnvironment, buildEnvironment } from './build-environment.ts';

export type Validation = {
  readonly environments: readonly string[];
  /** Errors, each once, in the order found. */
  readonly problems: readonly FleetError[];
  /** The same errors with the environments and assignments that each affects, and hints for missing values. */
  readonly findings: readonly Finding[];
  /** Advice: possible mistakes. */
  readonly advice: readonly FleetError[];
  /** Values of sites that are missing, do not fit or have no taker, and layers that tie. Those that the repository causes are problems, too. */
  readonly sites: readonly SiteFinding[];
};

export type ValidatedBuilds = Validation & {
  /** Builds of the environments; one with a problem that stops its build has none. */
  readonly builds: readonly BuiltEnvironment[];
};

export type ValidateOptions = PlatformOptions & {
  readonly environments?: readonly string[];
  readonly fleet?: string;
  /** Range of Kubernetes versions to judge rendered objects for, instead of what cluster types require. */
  readonly kubernetes?: string;
  /** Agents of a hub. Without them only sites that the repository declares are judged, by its values alone. */
  readonly enrolled?: Enrolled;
};

/**
 * Finds every problem of a platform in all environments, or in the named ones: in its YAML, repositories, policies, templates
 * and configuration, in the files of applications, and in the resulting objects. Builds every bundle without writing it; images
 * are not resolved.
 * @throws FleetError only if the platform itself cannot be read
 */
export const validatePlatform = async (options: ValidateOptions): Promise<Validation> => {
  const { builds: _, ...validation } = await validateBuilds(options);
  return validation;
};

/** As validatePlatform, with the builds. */
export const validateBuilds = async (options: ValidateOptions): Promise<ValidatedBuilds> => {
  if (options.kubernetes !== undefined) checkRange(options.kubernetes);
  const sources = options.sources ?? sourcesOf(options);
  const root = createProblems();
  const known = await environmentsAt(options, sources, root);
  if (!known) return onlyRoot(root.found);
  const environments = options.environments ?? known;
  const found: Found[] = root.found.flatMap((error) =>
    environments.map((environment) => ({ error, environment })),
  );
  const builds: BuiltEnvironment[] = [];
  for (const environment of environments) {
    try {
      const built = await buildEnvironment(options, sources, environment);
      builds.push(built);
      const workloads = (built.platform.heldWorkloads ?? []).flatMap(({ errors }) => errors);
      found.push(...workloads.map((error) => ({ error, environment })));
      const held = built.bundles.flatMap((bundle) => bundle.held);
      for (const { assignment, error } of held) {
        const name = `${assignment.clusterType.name}/${assignment.target.name}`;
        found.push(...problemsOf(error).map((one) => ({ error: one, environment, assignment: name })));
      }
    } catch (error) {
      const problems = problemsOf(error);
      if (problems.some(isFatal)) throw error;
      found.push(...problems.map((one) => ({ error: one, environment })));
    }
  }
  const idle = idleSelectors(environments, builds);
  found.push(
    ...idle.problems.flatMap((error) => environments.map((environment) => ({ error, environment }))),
  );
  const judged: SiteFinding[] = [];
  const idleLayers: FleetError[] = [];
  for (const build of builds) {
    const { findings: own, idle: layers } = await adviseBuilt(build, options.enrolled);
    judged.push(...own);
    idleLayers.push(...layers);
    const { environment } = build.platform;
    found.push(
      ...own.filter(({ isRepository }) => isRepository).map(({ error }) => ({ error, environment })),
    );
  }
  const findings = groupFindings(found.map((one) => withMissing(one, builds)));
  return {
    environments,
    problems: findings.map(({ error }) => error),
    findings,
    advice: [
      ...uniqueKinds(
        uniqueProblems(builds.flatMap(({ advice, aboutTemplates }) => [...advice, ...aboutTemplates])),
      ),
      ...idle.advice,
      ...uniqueProblems([
        ...judged.filter(({ isRepository }) => !isRepository).map(({ error }) => error),
        ...idleLayers,
      ]),
      ...uniqueProblems(
        builds.flatMap(({ platform }) => [
          ...unfitReconcilers(platform),
          ...rulesWithoutAgent(platform.clusterTypes),
        ]),
      ),
      ...uniqueProblems(
        options.kubernetes === undefined
          ? builds.flatMap(({ platform }) => unjudgedTypes(platform.clusterTypes))
          : [],
      ),
    ],
    sites: judged,
    builds,
  };
};

/** Unused selectors are known only after all environments were checked. */
const idleSelectors = (
  environments: readonly string[],
  builds: readonly EnvironmentBuild[],
): IdleSelectors =>
  builds.length === environments.length
    ? findIdleSelectors(builds.map(({ platform }) => platform))
    : { problems: [], advice: [] };

/** Undefined if the list of environments itself has several errors, which are then reported. */
const environmentsAt = async (
  options: ValidateOptions,
  sources: Sources,
  root: Problems,
): Promise<readonly string[] | undefined> => {
  try {
    const found = await findRoot(options.platform, sources, root);
    await loadPromotion(sources, found, root);
    return environmentsOf(found);
  } catch (error) {
    const problems = problemsOf(error);
    if (problems.length < 2) throw error;
    root.found.splice(0, root.found.length, ...problems);
    return undefined;
  }
};

const onlyRoot = (found: readonly FleetError[]): ValidatedBuilds => {
  const findings = groupFindings(found.map((error) => ({ error, environment: '' }))).map((finding) => ({
    ...finding,
    environments: [],
  }));
  const problems = findings.map(({ error }) => error);
  return { environments: [], problems, findings, advice: [], sites: [], builds: [] };
};

/** An unknown custom kind is one advice, regardless of the number of environments and objects. */
const uniqueKinds = (advice: readonly FleetError[]): readonly FleetError[] => {
  const seen = new Set<string>();
  return advice.filter(({ code, message }) => {
    if (code !== 'UNKNOWN_KIND') return true;
    const isNew = !seen.has(message);
    seen.add(message);
    return isNew;
  });
};

/** Hints exist only for missing values. */
const withMissing = (one: Found, builds: readonly EnvironmentBuild[]): Found => {
  if (one.error.code !== 'CONFIG_SCHEMA') return one;
  const missing = (): readonly MissingValue[] => {
    const build = builds.find(({ platform }) => platform.environment === one.environment);
    const held = build?.bundles
      .flatMap((bundle) => bundle.held)
      .find(({ error }) => formatError(error) === formatError(one.error));
    if (!build || !held) return [];
    const others = builds.filter((other) => other !== build).map(({ platform }) => platform);
    return createMissingFinder(build.platform)(held.assignment, others);
  };
  return { ...one, missing };
};
