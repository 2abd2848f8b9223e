import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { appendEvent } from '../report/outbox.ts';
import { forgetFailures } from '../store/failures.ts';
import type { PackageResult } from './package-result.ts';
import { resume } from './perform.ts';
import { reconcile } from './reconcile.ts';
import { findRunning } from './roll-back-package.ts';

/**
 * A person has mended what made packages fail: they are tried again. @param assignments none for all
 * @throws FleetError USAGE for a package that is not here
 */
export const retryPackages = async (
  agent: Agent,
  assignments: readonly string[] = [],
): Promise<readonly PackageResult[]> => {
  await resume(agent);
  for (const assignment of assignments) findRunning(agent, assignment);
  record(agent, 'retry', () => {
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
