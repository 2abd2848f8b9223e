import type { FleetError } from '#bundles/errors';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { environmentsOf } from '../../load/list-environments.ts';
import { findRoot, sourcesOf } from '../../load/load-platform.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { createProblems, problemsOf, isFatal } from '../../model/problems.ts';
import { compareViews, type Viewed, viewOrProblems } from '../../views/diff/compare-views.ts';
import type { EnvironmentDiff } from '../../views/diff/compare-environments.ts';
import { viewBuilt } from '../../views/diff/view-environment.ts';
import { type BuiltEnvironment, buildEnvironment } from '../../views/build-environment.ts';
import { type ValidatedBuilds, validateBuilds } from '../../views/validate-platform.ts';
import { type EditedFiles, withEdits } from './edited-sources.ts';

export type CheckOptions = PlatformOptions & {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly fleet?: string;
};

/** Effect of edited files on a platform. */
export type EditCheck = {
  /** Mistakes that the platform has with the files, and did not have before. Nothing with one is written. */
  readonly problems: readonly FleetError[];
  /** Mistakes that it had before, and still has. */
  readonly known: readonly FleetError[];
  /** Advice that is new. */
  readonly advice: readonly FleetError[];
  /** Rendered changes, by environment. */
  readonly environments: readonly EnvironmentDiff[];
};

/**
 * Validates the platform with edited files, and compares what it renders with what it renders now. Reads everything from one snapshot,
 * builds each environment once for a state that has to be judged, and writes nothing.
 * @throws FleetError SOURCE_UNREACHABLE, ABORTED
 */
export const checkEdit = async (options: CheckOptions, edit: EditedFiles): Promise<EditCheck> => {
  const sources = options.sources ?? sourcesOf(options);
  const before = withEdits(sources, { ...edit, files: [] });
  const after = withEdits(sources, edit);
  const found = await judge(options, after);
  const earlier = found.problems.length + found.advice.length === 0 ? NOTHING : await judge(options, before);
  const isKnown = knownIn([...earlier.problems, ...earlier.advice]);
  const problems = found.problems.filter((one) => !isKnown(one));
  return {
    problems,
    known: found.problems.filter(isKnown),
    advice: found.advice.filter((one) => !isKnown(one)),
    environments:
      problems.length > 0
        ? []
        : await compare(
            options,
            { sources: before, builds: earlier.builds },
            { sources: after, builds: found.builds },
          ),
  };
};

type Judged = Pick<ValidatedBuilds, 'problems' | 'advice' | 'builds'>;

const NOTHING: Judged = { problems: [], advice: [], builds: [] };

const judge = async (options: CheckOptions, sources: Sources): Promise<Judged> => {
  try {
    return await validateBuilds({ ...options, sources });
  } catch (error) {
    const problems = problemsOf(error);
    if (problems.some(isFatal)) throw error;
    return { problems, advice: [], builds: [] };
  }
};

/** Mistakes are the same wherever the edit has moved their lines. */
const knownIn = (errors: readonly FleetError[]): ((error: FleetError) => boolean) => {
  const keyOf = ({ code, subject, message, at }: FleetError): string =>
    JSON.stringify([code, subject, message.replaceAll(/:\d+(?::\d+)?/g, ''), at?.file]);
  const known = new Set(errors.map(keyOf));
  return (error) => known.has(keyOf(error));
};

/** A state of the platform, with the environments that were built when it was judged. */
type State = { readonly sources: Sources; readonly builds: readonly BuiltEnvironment[] };

const compare = async (
  options: CheckOptions,
  before: State,
  after: State,
): Promise<readonly EnvironmentDiff[]> => {
  const [old, now] = [await environmentsIn(options, before), await environmentsIn(options, after)];
  const diffs: EnvironmentDiff[] = [];
  for (const name of new Set([...now, ...old])) {
    options.signal.throwIfAborted();
    const left = old.includes(name) ? await view(options, before, name) : undefined;
    const right = now.includes(name) ? await view(options, after, name) : undefined;
    diffs.push(compareViews(name, left, right));
  }
  return diffs;
};

/** The environments of a platform; none of one that is not there yet. */
const environmentsIn = async (options: CheckOptions, { sources }: State): Promise<readonly string[]> => {
  try {
    return environmentsOf(await findRoot(options.platform, sources, createProblems()));
  } catch {
    return [];
  }
};

const view = (options: CheckOptions, { sources, builds }: State, environment: string): Promise<Viewed> =>
  viewOrProblems(environment, async () => {
    const known = builds.find(({ platform }) => platform.environment === environment);
    return viewBuilt(known ?? (await buildEnvironment(options, sources, environment)));
  });
