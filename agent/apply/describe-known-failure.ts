import type { Failure } from '../store/applied/failures.ts';

/** Why a package that failed before is left alone, and the command that lets it be tried again. */
export const describeKnownFailure = (
  assignment: string,
  { at, message }: Pick<Failure, 'at' | 'message'>,
): string =>
  `failed at ${at} and is not tried again before it changes; to try it now: fleet-agent retry ${assignment}; it failed because: ${message}`;
