import type { Exclusively } from '../acquire/pull-release.ts';
import type { Agent } from '../agent.ts';
import { acquireLock } from '../store/lock.ts';

/** A person's command that is under way is waited for so long; then it is the next round's turn. */
const PATIENCE_MS = 60_000;

/**
 * One piece of work at a time: first in this process, in the order asked, then among all that share the state directory.
 * Locked only meanwhile, so that people can work between two rounds.
 */
export const makeExclusively = ({ state, edge, signal }: Agent): Exclusively => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(async () => {
      signal.throwIfAborted();
      const how = { waitMs: PATIENCE_MS, signal, bootId: edge.bootId };
      using _lock = await acquireLock(state.directory, 'run', edge.now(), how);
      return await work();
    });
    last = mine.catch(() => {});
    return mine;
  };
};
