import { setFlagsFromString } from 'node:v8';

const FLAGS = ['--single-threaded-gc', '--no-incremental-marking', '--semi-space-growth-factor=1'];

/**
 * Before the first big blob: create and push move gigabytes in pieces of 64 KiB that live for a moment. V8 takes their memory for a
 * reason to look through all of its own, on threads that transfers need, some twenty times for half a gigabyte. One thread, all at
 * once, is enough for a heap this small, and a small nursery lets pieces go sooner (docs/benchmarks.md).
 */
export const carryLightly = (): void => {
  for (const flag of FLAGS) setFlagsFromString(flag);
};
