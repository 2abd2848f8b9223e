import { toFleetError } from '#bundles/errors';
import type { Exclusively } from '../acquire/pull-release.ts';
import type { Agent } from '../agent.ts';
import type { HealthWaits } from '../observe/observe.ts';
import { judgeHealth } from '../observe/judge-health.ts';
import type { Log } from './log.ts';

/**
 * Waits for the health of packages beside the looks: a look begins the wait and ends, and the verdict is written down between two
 * pieces of work. One wait a package; new releases, imports and other packages' drift go on meanwhile.
 * @param onVerdict called after each: there may be something to report
 */
export const healthWaits = (
  agent: Agent,
  exclusively: Exclusively,
  log: Log,
  onVerdict: () => void,
): HealthWaits & AsyncDisposable => {
  const waiting = new Map<string, Promise<void>>();
  const begin = async (assignment: string): Promise<void> => {
    try {
      await judgeHealth(agent, assignment, exclusively);
    } catch (cause) {
      const { code, message } = toFleetError(cause);
      if (!agent.signal.aborted) log.warn({ assignment, code, reason: message }, 'health not judged');
    }
    waiting.delete(assignment);
    onVerdict();
  };
  return {
    isWaiting: (assignment) => waiting.has(assignment),
    wait: async (assignments) => {
      for (const assignment of assignments) waiting.set(assignment, begin(assignment));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.allSettled(waiting.values());
    },
  };
};
