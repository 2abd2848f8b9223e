import { FleetError } from '#bundles/errors';

/** Runs one task after the other. @param maxWaiting more are refused @returns rejects with FleetError BUSY, or as the task */
export const createQueue = (maxWaiting: number): (<T>(task: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return async (task) => {
    if (waiting > maxWaiting)
      throw new FleetError('BUSY', 'other edits of the platform are being judged', {
        hint: 'Send it again in some seconds',
      });
    waiting += 1;
    const mine = last.then(task);
    last = mine.catch(() => {});
    try {
      return await mine;
    } finally {
      waiting -= 1;
    }
  };
};
