import { FleetError, formatError, toFleetError } from '#bundles/errors';

/** Collects every mistake of a platform, so that its owner can repair them in one go. */
export type Problems = { readonly found: FleetError[] };

export const newProblems = (): Problems => ({ found: [] });

/** Not a mistake in what was read: it was stopped, is our own fault, or the disk here is full. Whoever collects mistakes lets it through. */
export const endsRun = ({ code }: FleetError): boolean =>
  code === 'ABORTED' || code === 'INTERNAL' || code === 'DISK_FULL';

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
