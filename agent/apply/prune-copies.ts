import type { Agent } from '../agent.ts';
import type { Pruned } from './target.ts';

/** Removes copies of replaced things that no package puts back: all of them, or the oldest of what is more than may be kept. */
export const pruneCopies = async (
  { targets }: Pick<Agent, 'targets'>,
  which: 'all' | 'too many',
): Promise<Pruned> => {
  let [files, bytes] = [0, 0];
  for (const target of targets) {
    const pruned = await target.pruneCopies?.(which);
    files += pruned?.files ?? 0;
    bytes += pruned?.bytes ?? 0;
  }
  return { files, bytes };
};
