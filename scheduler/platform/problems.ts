import { FleetError, formatError, toFleetError } from '#bundles/errors';

/** Collects every mistake of a platform, so that its owner can repair them in one go. */
export type Problems = { readonly found: FleetError[] };

export const newProblems = (): Problems => ({ found: [] });

/**
 * The run was stopped, or the disk here is full: not a mistake in what was read. An unexpected exception (INTERNAL) is not among them:
 * content of one application that causes it holds that application, as any other mistake of its does.
 */
export const endsRun = ({ code }: FleetError): boolean => code === 'ABORTED' || code === 'DISK_FULL';

/** As endsRun, where no application's content is read: an unexpected exception then says nothing about what is judged. */
export const endsJudging = (error: FleetError): boolean => endsRun(error) || error.code === 'INTERNAL';

/** Runs a step; a mistake in it is kept and the step gives undefined, so that the next step can look for its own. */
export const attempt = async <T>(problems: Problems, step: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await step();
  } catch (error) {
    const known = toFleetError(error);
    if (endsRun(known)) throw known;
    problems.found.push(...problemsOf(known));
    return undefined;
  }
};

/**
 * One error for all that was found: the only one itself, or PLATFORM_INVALID that carries them all.
 * @throws FleetError when anything was found
 */
export const throwProblems = (problems: readonly FleetError[], what: string): void => {
  const [first] = problems;
  if (first === undefined) return;
  if (problems.length === 1) throw first;
  const told = `${what} has ${problems.length} problems; the first is ${first.code}: ${first.message}`;
  throw new FleetError('PLATFORM_INVALID', told, {
    ...(first.subject !== undefined && { subject: first.subject }),
    ...(first.at && { at: first.at }),
    cause: new AggregateError(problems, `${problems.length} problems`),
    hint: 'Run validate to see them all',
  });
};

/** The single mistakes behind an error of `loadPlatform`, in the order they were found. */
export const problemsOf = (error: unknown): readonly FleetError[] => {
  const known = toFleetError(error);
  if (known.code === 'PLATFORM_INVALID' && known.cause instanceof AggregateError)
    return known.cause.errors.map((one: unknown) => toFleetError(one));
  return [known];
};

/** What base/ has wrong is found in every environment, and one template's mistake in every assignment. */
export const eachOnce = (errors: readonly FleetError[]): readonly FleetError[] => [
  ...new Map(errors.map((error) => [formatError(error), error])).values(),
];
