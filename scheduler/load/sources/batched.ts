import { setImmediate } from 'node:timers/promises';

/** Resolves after all calls that are ready to run now, so that their jobs join the batch. */
const waitForOthers = (): Promise<void> => setImmediate();

/**
 * Runs one batch of jobs at a time. Jobs that arrive together, or during a run, are one batch, so that many small jobs cost few runs.
 * @param run resolves to one result for each job, in order
 */
export const batched = <Job, Result>(
  run: (jobs: readonly Job[]) => Promise<readonly Result[]>,
): ((job: Job) => Promise<Result>) => {
  let waiting: Job[] = [];
  let next: Promise<readonly Result[]> | undefined;
  let last: Promise<unknown> = Promise.resolve();
  return async (job) => {
    const at = waiting.push(job) - 1;
    next ??= last.then(waitForOthers).then(() => {
      const jobs = waiting;
      waiting = [];
      next = undefined;
      return run(jobs);
    });
    last = next.catch(() => undefined);
    const results = await next;
    return results[at] as Result;
  };
};
