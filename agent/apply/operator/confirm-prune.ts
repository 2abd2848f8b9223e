import { defined } from '#bundles/defined';
import type { Agent } from '../../store/agent.ts';
import { record } from '../../store/journal/boundary.ts';
import { listed } from '../../store/outbox/changes.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { readPackages } from '../../store/applied/packages.ts';
import { readTrustRow, saveTrustRow } from '../../store/trust.ts';
import type { PackageResult } from '../package-result.ts';
import { planNext } from '../plan-next.ts';
import { resume } from '../perform.ts';
import { reconcile } from '../reconcile.ts';

/**
 * Lifts the prune budget for the desired release after an operator's confirmation, and reconciles. Without pending removals
 * it does nothing, so that a confirmation never carries over to a later release.
 */
export const confirmPrune = async (agent: Agent): Promise<readonly PackageResult[]> => {
  await resume(agent);
  const asking = await packagesThatAsk(agent);
  const trust = readTrustRow(agent.state);
  if (asking.length === 0) return [];
  const { shown, more } = listed(asking);
  record(agent, 'prune confirmed', () => {
    saveTrustRow(agent.state, { ...trust, pruneConfirmed: true });
    appendEvent(agent, {
      type: 'operator',
      release: trust.desiredRelease,
      detail: defined({
        action: 'prune',
        operator: agent.edge.operator,
        packages: shown,
        more: more > 0 ? more : undefined,
      }),
    });
  });
  return reconcile(agent);
};

/** Packages that leave, and those whose update asks, or would ask after a hold or in the next window. */
const packagesThatAsk = async (agent: Agent): Promise<readonly string[]> => {
  const known = readPackages(agent.state)
    .filter(({ desired, code }) => desired === undefined || code === 'PRUNE_BUDGET')
    .map(({ assignment }) => assignment);
  if (known.length > 0) return known;
  const next = await planNext(agent);
  return next.filter(({ waits }) => waits?.code === 'PRUNE_BUDGET').map(({ assignment }) => assignment);
};
