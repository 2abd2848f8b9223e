import { setImmediate } from 'node:timers/promises';

/** Items of one batch: its transaction ends soon enough for other writers, and a failure repeats few. */
const MAX_BATCH = 128;

export type BatchOptions<In, Out> = {
  /** Does the work of all items in one durable transaction. It may be run again with one of them. @returns results in their order */
  readonly work: (items: readonly In[]) => Promise<readonly Out[]>;
  /** Items with the same key depend on each other and never share a batch. */
  readonly keyOf: (item: In) => string;
};

type Waiting<In, Out> = {
  readonly item: In;
  readonly resolve: (result: Out) => void;
  readonly fail: (error: unknown) => void;
};

/**
 * Works on items that wait at the same time in one transaction, because a commit and each statement take longer than most items. If
 * a batch fails, nothing of it is kept, and each item is worked on again in a transaction of its own.
 */
export const groupCommits = <In, Out>({
  work,
  keyOf,
}: BatchOptions<In, Out>): ((item: In) => Promise<Out>) => {
  let queue: Waiting<In, Out>[] = [];
  let isRunning = false;
  const nextBatch = (): readonly Waiting<In, Out>[] => {
    const batch = new Map<string, Waiting<In, Out>>();
    const later: Waiting<In, Out>[] = [];
    for (const one of queue) {
      const key = keyOf(one.item);
      if (batch.size < MAX_BATCH && !batch.has(key)) batch.set(key, one);
      else later.push(one);
    }
    queue = later;
    return [...batch.values()];
  };
  const run = async (batch: readonly Waiting<In, Out>[]): Promise<void> => {
    try {
      const results = await work(batch.map(({ item }) => item));
      for (const [at, { resolve }] of batch.entries()) resolve(results[at] as Out);
    } catch (error) {
      if (batch.length === 1) batch[0]?.fail(error);
      // Each finds its own error when it is run alone.
      else for (const one of batch) await run([one]);
    }
  };
  const runAll = async (): Promise<void> => {
    isRunning = true;
    while (queue.length > 0) {
      // A commit blocks the program: items that arrived meanwhile are read first, and share the next one.
      await setImmediate();
      await run(nextBatch());
    }
    isRunning = false;
  };
  return (item) =>
    new Promise<Out>((resolve, fail) => {
      queue.push({ item, resolve, fail });
      if (!isRunning) void runAll();
    });
};
