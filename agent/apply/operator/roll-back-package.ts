import { FleetError } from '#bundles/errors';
import type { Agent } from '../../store/agent.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { type PackageRow, savePackage } from '../../store/applied/packages.ts';
import { isRevoked, readTrustRow } from '../../store/trust.ts';
import { findRunning } from '../find-running.ts';
import { type PackageResult, resultOf } from '../package-result.ts';
import { begin, perform, resume } from '../perform.ts';
import { rebootsFor } from '../why-reboot-waits.ts';

/**
 * Rolls one package back to its previous version on request of an operator. Floors do not change, the hub receives operator
 * and reason, and the next release for this agent ends the rollback. One to another system of the host reboots at once.
 * @throws FleetError USAGE, NOTHING_TO_ROLL_BACK, REBOOT_REFUSED
 */
export const rollBackPackage = async (
  agent: Agent,
  assignment: string,
  reason: string,
): Promise<PackageResult> => {
  await resume(agent);
  const row = findRunning(agent, assignment);
  const previous = previousOf(agent, row);
  if (!agent.policy.allowReboot && (await rebootsFor(agent, previous)))
    throw new FleetError(
      'REBOOT_REFUSED',
      `the earlier package of ${assignment} has another system, and allowReboot is false in the configuration of this machine`,
      { hint: 'Set allowReboot: true in agent.yaml, or boot the other slot yourself' },
    );
  const pinnedRelease = readTrustRow(agent.state).desiredRelease?.version ?? 0;
  const id = begin(agent, { assignment, kind: 'restore', from: row.current, to: previous }, () => {
    const pinnedReason = `rolled back by ${agent.edge.operator}: ${reason}`;
    savePackage(agent.state, { ...row, pinnedRelease, pinnedReason });
    appendEvent(agent, {
      type: 'operator',
      assignment,
      package: previous.package,
      siteValues: previous.siteValues,
      release: previous.release,
      message: reason,
      detail: { action: 'rollback', operator: agent.edge.operator },
    });
  });
  return resultOf(await perform(agent, id));
};

const previousOf = ({ state }: Agent, { assignment, previous }: PackageRow) => {
  const hint = 'Ask for a release that names an older bundle';
  if (!previous) {
    throw new FleetError('NOTHING_TO_ROLL_BACK', `no earlier package of ${assignment} ran here`, { hint });
  }
  if (isRevoked(state, previous.package, previous.bundle)) {
    throw new FleetError('NOTHING_TO_ROLL_BACK', `the earlier package of ${assignment} was revoked`, {
      hint,
    });
  }
  return previous;
};
