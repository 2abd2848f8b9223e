import { FleetError } from '#bundles/errors';

/** Runs `work`, and replaces any error after an abort by one sentence with `hint`. @throws FleetError ABORTED, and errors of `work` */
export const stoppable = async <T>(signal: AbortSignal, hint: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new FleetError('ABORTED', 'stopped before the end', { cause, hint });
  }
};
