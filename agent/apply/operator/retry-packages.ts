import type { Agent } from '../../store/agent.ts';
import { record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { forgetFailures } from '../../store/applied/failures.ts';
import { makeRemovalsDue } from '../../store/applied/attempts.ts';
import type { PackageResult } from '../package-result.ts';
import { resume } from '../perform.ts';
import { reconcile } from '../reconcile.ts';
import { findRunning } from '../find-running.ts';

/**
 * Retries failed packages on request of an operator. @param assignments empty for all
 * @throws FleetError USAGE for an unknown package
 */
export const retryPackages = async (
  agent: Agent,
  assignments: readonly string[] = [],
): Promise<readonly PackageResult[]> => {
  await resume(agent);
  for (const assignment of assignments) findRunning(agent, assignment);
  record(agent, 'retry', () => {
    makeRemovalsDue(agent.state, assignments, agent.edge.now());
    const wanted = assignments.length === 0 ? [undefined] : assignments;
    for (const forgotten of wanted.flatMap((assignment) => forgetFailures(agent.state, assignment))) {
      appendEvent(agent, {
        type: 'operator',
        assignment: forgotten,
        detail: { action: 'retry', operator: agent.edge.operator },
      });
    }
  });
  return reconcile(agent);
};
