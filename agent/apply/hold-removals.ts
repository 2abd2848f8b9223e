import type { Outcome } from '#bundles/report/event';
import { formatTime } from '#bundles/time';
import { record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation } from '../journal/operations.ts';
import { saveFailure } from '../store/failures.ts';
import { readTrustRow } from '../store/trust.ts';
import type { Plan } from './target.ts';
import type { Work } from './work.ts';

/**
 * For each package of the prune budget an update may leave one package with so many files and objects fewer. Those that it creates count
 * against those that it removes: generated names, of ConfigMaps or of a page's files, change with every release.
 */
const FOR_EACH_PACKAGE = 10;

/** Why the removals of a plan need a person's word; undefined where they do not. */
export const removalsToConfirm = ({ agent, operation }: Work, { steps }: Plan): string | undefined => {
  const { kind, from, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !from || !to) return undefined;
  const count = (wanted: Outcome): number => steps.filter(({ outcome }) => outcome === wanted).length;
  const [removed, created] = [count('deleted'), count('created')];
  const allowed = FOR_EACH_PACKAGE * Math.max(1, agent.policy.pruneBudget);
  if (removed - created <= allowed || readTrustRow(agent.state).pruneConfirmed) return undefined;
  return `the release removes ${removed} objects of the package and creates ${created}; at most ${allowed} fewer go unasked; if it is meant: fleet-agent prune`;
};

/** Ends an operation before its first write. It is planned again when a person confirms it or another package is wanted. */
export const holdRemovals = ({ agent, operation }: Work, message: string): void => {
  const endedAt = formatTime(agent.edge.now());
  const said = { code: 'PRUNE_BUDGET', message };
  record(agent, `${nameOf(operation)}: held`, () => {
    saveFailure(agent.state, operation.assignment, operation.to, { ...said, at: endedAt, checks: [] });
    saveOperation(agent.state, { ...operation, ...said, phase: 'done', outcome: 'held', endedAt });
  });
};
