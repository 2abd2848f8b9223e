import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { appendEvent } from '../report/outbox.ts';
import { readPackages } from '../store/packages.ts';
import { readTrustRow, saveTrustRow } from '../store/trust.ts';
import type { PackageResult } from './package-result.ts';
import { resume } from './perform.ts';
import { reconcile } from './reconcile.ts';

/**
 * A person has looked at what the wanted release would remove, and means it: for this release the budget no longer
 * counts. Where nothing is to be removed, nothing is said for a later release either.
 */
export const confirmPrune = async (agent: Agent): Promise<readonly PackageResult[]> => {
  await resume(agent);
  const leaving = readPackages(agent.state).filter(
    ({ desired, code }) => desired === undefined || code === 'PRUNE_BUDGET',
  );
  const trust = readTrustRow(agent.state);
  if (leaving.length === 0) return [];
  record(agent, 'prune confirmed', () => {
    saveTrustRow(agent.state, { ...trust, pruneConfirmed: true });
    appendEvent(agent, {
      type: 'operator',
      ...(trust.desiredRelease ? { release: trust.desiredRelease } : {}),
      detail: {
        action: 'prune',
        operator: agent.edge.operator,
        packages: leaving.map(({ assignment }) => assignment),
      },
    });
  });
  return reconcile(agent);
};
