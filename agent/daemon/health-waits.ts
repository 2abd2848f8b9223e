import { toFleetError } from '#bundles/errors';
import type { RunExclusively } from '../acquire/pull-release.ts';
import type { Agent } from '../store/agent.ts';
import type { HealthWaits } from '../observe/observe.ts';
import { judgeHealth } from '../observe/judge-health.ts';
import type { Log } from '../model/log.ts';

/**
 * Waits for the health of packages concurrently with looks. A look starts the wait and returns; the result is stored under the
 * lock later. There is one wait per package, and it blocks neither new releases nor imports nor corrections.
 * @param onVerdict called after a wait that stored a result: there may be something to report, or to try again later. Not for a package that
 *   was healthy and still is: each look waits for its checks, and would cause the next look
 */
export const healthWaits = (
  agent: Agent,
  exclusively: RunExclusively,
  log: Log,
  onVerdict: () => void,
): HealthWaits & AsyncDisposable => {
  const waiting = new Map<string, Promise<void>>();
  const begin = async (assignment: string): Promise<void> => {
    let stored = true;
    try {
      stored = await judgeHealth(agent, assignment, exclusively);
    } catch (cause) {
      const { code, message } = toFleetError(cause);
      if (!agent.signal.aborted) log.warn({ assignment, code, reason: message }, 'health not judged');
    }
    waiting.delete(assignment);
    if (stored) onVerdict();
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
