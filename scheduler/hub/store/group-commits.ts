import type { Store } from './open-store.ts';
import type { Tx } from './tables.ts';

/** Works in one transaction: it ends soon enough for other writers, and a failure repeats few. */
const MOST = 32;

/** Runs a work in a durable transaction, like Store.transact. The work may be run twice. */
export type GroupCommit = <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;

type Waiting = {
  /** @returns a function that resolves with the caller's result once it is durable */
  readonly run: (tx: Tx) => Promise<() => void>;
  readonly fail: (error: unknown) => void;
};

/**
 * Runs works that wait at the same time in one transaction, in their order, because a commit takes longer than most works. If a work
 * fails, nothing of its transaction is kept, and each of the works is run again in a transaction of its own.
 */
export const groupCommits = ({ transact }: Pick<Store, 'transact'>): GroupCommit => {
  const queue: Waiting[] = [];
  let isRunning = false;
  const runAll = async (): Promise<void> => {
    isRunning = true;
    for (let batch = queue.splice(0, MOST); batch.length > 0; batch = queue.splice(0, MOST)) {
      if (await runTogether(transact, batch)) continue;
      for (const one of batch) await runAlone(transact, one);
    }
    isRunning = false;
  };
  return <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    new Promise<T>((resolve, fail) => {
      const run = async (tx: Tx): Promise<() => void> => {
        const result = await work(tx);
        return () => resolve(result);
      };
      queue.push({ run, fail });
      if (!isRunning) void runAll();
    });
};

type Transact = Store['transact'];

/** @returns whether it was committed */
const runTogether = async (transact: Transact, batch: readonly Waiting[]): Promise<boolean> => {
  if (batch.length === 1) return false;
  try {
    const done = await transact(async (tx) => {
      const results: (() => void)[] = [];
      for (const { run } of batch) results.push(await run(tx));
      return results;
    });
    for (const tell of done) tell();
    return true;
  } catch {
    // Each finds its own error when it is run alone.
    return false;
  }
};

const runAlone = async (transact: Transact, { run, fail }: Waiting): Promise<void> => {
  try {
    (await transact(run))();
  } catch (error) {
    fail(error);
  }
};
