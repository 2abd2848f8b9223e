import { FleetError, formatError, toFleetError } from '#bundles/errors';

/** Collects every mistake in a platform, so that all can be corrected at once. */
export type Problems = { readonly found: FleetError[] };

export const createProblems = (): Problems => ({ found: [] });

/**
 * Whether the error ends the run: it was aborted, or the local disk is full. An unexpected exception (INTERNAL) does not: if
 * the content of one application causes it, that application is held, as for any other mistake.
 */
export const isFatal = ({ code }: FleetError): boolean => code === 'ABORTED' || code === 'DISK_FULL';

/**
 * Like isFatal, but for steps that read no application content: there an unexpected exception (INTERNAL) also ends the run.
 */
export const isFatalForJudging = (error: FleetError): boolean => isFatal(error) || error.code === 'INTERNAL';

/**
 * As toFleetError, for a step whose failure is reported while others continue.
 * @throws FleetError ABORTED, INTERNAL: they end the run
 */
export const toProblem = (error: unknown, doing?: string): FleetError => {
  const problem = toFleetError(error, doing);
  if (problem.code === 'ABORTED' || problem.code === 'INTERNAL') throw problem;
  return problem;
};

/**
 * As toFleetError, for a step that reads the content of one application: any mistake in it, and an unexpected exception, is of that
 * application alone.
 * @throws FleetError ABORTED, DISK_FULL: they end the run (isFatal)
 */
export const toMistake = (error: unknown, doing?: string): FleetError => {
  const mistake = toFleetError(error, doing);
  if (isFatal(mistake)) throw mistake;
  return mistake;
};

/**
 * Runs a step. Its mistakes are added to `problems` and the result is undefined, so that later steps can report theirs.
 * @throws FleetError ABORTED, DISK_FULL
 */
export const collectProblems = async <T>(
  problems: Problems,
  step: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await step();
  } catch (error) {
    problems.found.push(...problemsOf(toMistake(error)));
    return undefined;
  }
};

/**
 * Throws one error for all problems: the only one, or PLATFORM_INVALID with all of them as its cause. Returns when there are
 * none.
 * @throws FleetError the single problem's code, or PLATFORM_INVALID
 */
export const throwProblems = (problems: readonly FleetError[], what: string): void => {
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  const message = `${what} has ${problems.length} problems; the first is ${first.code}: ${first.message}`;
  throw new FleetError('PLATFORM_INVALID', message, {
    subject: first.subject,
    at: first.at,
    cause: new AggregateError(problems, `${problems.length} problems`),
    hint: 'Run validate to see them all',
  });
};

/** The single problems in an error of `loadPlatform`, in the order they were found. */
export const problemsOf = (error: unknown): readonly FleetError[] => {
  const known = toFleetError(error);
  if (known.code === 'PLATFORM_INVALID' && known.cause instanceof AggregateError)
    return known.cause.errors.map((one: unknown) => toFleetError(one));
  return [known];
};

/** Removes duplicates: a mistake in base/ is found in every environment, one in a template in every assignment. */
export const uniqueProblems = (errors: readonly FleetError[]): readonly FleetError[] => [
  ...new Map(errors.map((error) => [formatError(error), error])).values(),
];
