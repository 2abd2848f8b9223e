/** The result of shared work, or the caller's own abort, whichever is first; the work itself goes on for the others. */
export const unlessAborted = async <T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> => {
  if (!signal) return work;
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason as Error);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
};
