import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { appendEvent } from '../report/outbox.ts';
import { forgetFailures } from '../store/failures.ts';
import type { PackageResult } from './package-result.ts';
import { resume } from './perform.ts';
import { reconcile } from './reconcile.ts';
import { findRunning } from './roll-back-package.ts';

/**
 * A person has mended what made packages fail: they are tried again. @param assignment undefined for all
 * @throws FleetError USAGE for a package that is not here
 */
export const retryPackages = async (
  agent: Agent,
  assignment: string | undefined,
): Promise<readonly PackageResult[]> => {
  await resume(agent);
  if (assignment !== undefined) findRunning(agent, assignment);
  record(agent, 'retry', () => {
    for (const forgotten of forgetFailures(agent.state, assignment)) {
      appendEvent(agent, {
        type: 'operator',
        assignment: forgotten,
        detail: { action: 'retry', operator: agent.edge.operator },
      });
    }
  });
  return reconcile(agent);
};
