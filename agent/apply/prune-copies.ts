import type { Agent } from '../store/agent.ts';
import type { Pruned } from '../model/target.ts';

/** Removes copies of replaced things that no package will restore: all of them, or the oldest above the limit. */
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
