/** Runs `work` when this process ends: on its own, or by the signal with which vitest ends its workers. `work` must be synchronous. */
export const atEnd = (work: () => void): void => {
  process.once('exit', work);
  process.once('SIGTERM', () => {
    work();
    // The handler is gone, so that this ends the process.
    process.kill(process.pid, 'SIGTERM');
  });
};
