import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { RunExclusively } from '../acquire/pull-release.ts';

/** The heap of this process. */
export type Memory = {
  /** Bytes of system memory that the heap occupies, used or free. */
  readonly heldBytes: () => number;
  /** Runs a full garbage collection and returns free pages to the system; blocks the process meanwhile. */
  readonly collect: () => void;
};

/** Milliseconds of idle time before a collection, so that consecutive pieces of work cause only one. */
const REST_MS = 5000;
/** Smallest growth that justifies a collection of about 0.1 s. */
const MIN_GROWTH_BYTES = 1 << 20;
/** V8 drops code that did not run between two collections. The second one follows after this many rests. */
const SECOND_COLLECTION_AFTER = 4;

/**
 * Wraps `exclusively` to shrink the heap after work. V8 does not collect garbage while a process is idle, so without this the
 * daemon would keep the heap of its last release for days.
 */
export const shrinkHeapAfter = (
  exclusively: RunExclusively,
  memory: Memory = heapOfV8(),
  restMs: number = REST_MS,
): RunExclusively => {
  let timer: NodeJS.Timeout | undefined;
  let smallest = 0;
  const collect = (): void => {
    memory.collect();
    smallest = memory.heldBytes();
  };
  const rest = (): void => {
    if (memory.heldBytes() < smallest + MIN_GROWTH_BYTES) return;
    collect();
    timer = setTimeout(collect, SECOND_COLLECTION_AFTER * restMs).unref();
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

/** V8 exposes its collector only to contexts created after the flag was set. */
const heapOfV8 = (): Memory => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (how: object) => void;
  return {
    heldBytes: () => getHeapStatistics().total_heap_size,
    collect: () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  };
};
