import { FleetError, toFleetError } from '#bundles/errors';

/**
 * A failed system call as our error. The call's own text names '/proc/self/fd/...', which helps nobody: only its first
 * half ('EACCES: permission denied') is kept, after what we were doing. What has no code of its own is APPLY_FAILED.
 */
export const hostError = (error: unknown, doing: string): FleetError => {
  if (error instanceof FleetError) return error;
  const { code, hint } = toFleetError(error);
  const text = error instanceof Error ? (error.message.split(',')[0] ?? '') : String(error);
  return new FleetError(code === 'INTERNAL' ? 'APPLY_FAILED' : code, `${doing}: ${text}`, {
    cause: error,
    ...(hint !== undefined && { hint }),
  });
};

/** The name of a failed system call's error: 'ENOENT'. */
export const errno = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error ? String(error.code) : undefined;

/** @throws FleetError ABORTED */
export const stopIfAborted = (signal: AbortSignal): void => {
  if (signal.aborted)
    throw new FleetError('ABORTED', 'working on the host was stopped', { cause: signal.reason });
};
