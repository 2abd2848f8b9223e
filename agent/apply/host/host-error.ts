import { FleetError, toFleetError } from '#bundles/errors';

/**
 * Converts the error of a system call to a FleetError. Keeps only the first half of its message ('EACCES: permission denied'), because
 * the second names '/proc/self/fd/...'. Errors without a FleetError code become APPLY_FAILED.
 */
export const hostError = (error: unknown, doing: string): FleetError => {
  if (error instanceof FleetError) return error;
  const { code, hint } = toFleetError(error);
  const text = error instanceof Error ? (error.message.split(',')[0] ?? '') : String(error);
  return new FleetError(code === 'INTERNAL' ? 'APPLY_FAILED' : code, `${doing}: ${text}`, {
    cause: error,
    hint,
  });
};

/** The error name of a failed system call, such as 'ENOENT'. */
export const errno = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/** @throws FleetError ABORTED */
export const stopIfAborted = (signal: AbortSignal): void => {
  if (signal.aborted)
    throw new FleetError('ABORTED', 'working on the host was stopped', { cause: signal.reason });
};
