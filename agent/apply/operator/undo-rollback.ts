import { FleetError } from '#bundles/errors';
import type { Agent } from '../../store/agent.ts';
import { record } from '../../store/journal/boundary.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { savePackage } from '../../store/applied/packages.ts';
import type { PackageResult } from '../package-result.ts';
import { resume } from '../perform.ts';
import { reconcile } from '../reconcile.ts';
import { findRunning } from '../find-running.ts';

/**
 * Ends a rollback on request of an operator: the package of the release in force is applied again. The hub receives operator and reason.
 * @throws FleetError USAGE, NOTHING_TO_ROLL_BACK for a package that is not rolled back
 */
export const undoRollback = async (
  agent: Agent,
  assignment: string,
  reason: string,
): Promise<PackageResult> => {
  await resume(agent);
  const row = findRunning(agent, assignment);
  if (row.pinnedRelease === undefined)
    throw new FleetError('NOTHING_TO_ROLL_BACK', `${assignment} is not rolled back`, {
      hint: 'See fleet-agent status',
    });
  record(agent, `rollback of ${assignment} undone`, () => {
    savePackage(agent.state, { ...row, pinnedRelease: undefined, pinnedReason: undefined });
    appendEvent(agent, {
      type: 'operator',
      assignment,
      message: reason,
      detail: { action: 'undo-rollback', operator: agent.edge.operator },
    });
  });
  const results = await reconcile(agent);
  return results.find((one) => one.assignment === assignment) ?? { assignment, outcome: 'unchanged' };
};
