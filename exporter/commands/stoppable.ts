import { FleetError } from '#bundles/errors';

/** Whatever a stopped step throws, the person who stopped it hears one sentence. @throws FleetError ABORTED */
export const stoppable = async <T>(signal: AbortSignal, hint: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new FleetError('ABORTED', 'stopped before the end', { cause, hint });
  }
};
