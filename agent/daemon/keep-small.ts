import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Exclusively } from '../acquire/pull-release.ts';

/** The heap of this process. */
export type Memory = {
  /** What it has of the system's memory, used or not. */
  readonly heldBytes: () => number;
  /** Collects all garbage and gives free pages back; takes a moment in which nothing else happens. */
  readonly giveBack: () => void;
};

/** So long after the last piece of work: what comes one after the other is over by then. */
const REST_MS = 5000;
/** Less than this is not worth a tenth of a second of work. */
const WORTH_BYTES = 1 << 20;
/** V8 drops code that was not run between two collections: the second one comes so many rests later. */
const AGAIN = 4;

/**
 * Work that leaves a small process behind. A heap that has grown for a release stays so, for V8 sees no reason to look for garbage in a
 * process that makes none; a daemon rests for days.
 */
export const keepSmall = (
  exclusively: Exclusively,
  memory: Memory = heapOfV8(),
  restMs: number = REST_MS,
): Exclusively => {
  let timer: NodeJS.Timeout | undefined;
  let smallest = 0;
  const collect = (): void => {
    memory.giveBack();
    smallest = memory.heldBytes();
  };
  const rest = (): void => {
    if (memory.heldBytes() < smallest + WORTH_BYTES) return;
    collect();
    timer = setTimeout(collect, AGAIN * restMs).unref();
  };
  return async (work) => {
    clearTimeout(timer);
    try {
      return await exclusively(work);
    } finally {
      clearTimeout(timer);
      timer = setTimeout(rest, restMs).unref();
    }
  };
};

/** V8 shows its collector only to contexts that are made after it was told to. */
const heapOfV8 = (): Memory => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (how: object) => void;
  return {
    heldBytes: () => getHeapStatistics().total_heap_size,
    giveBack: () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
};
