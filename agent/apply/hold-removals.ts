import type { Outcome } from '#bundles/formats/events/event';
import { formatTime } from '#bundles/time';
import { record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { saveOperation } from '../store/journal/operations.ts';
import { saveFailure } from '../store/failures.ts';
import { readTrustRow } from '../store/trust.ts';
import type { Plan } from '../model/target.ts';
import type { Work } from './work.ts';

/**
 * Net number of files and objects that an update may remove from one package, for each package of the prune budget. Created
 * ones offset removed ones, because generated names (ConfigMaps, files of a page) change with every release.
 */
const FOR_EACH_PACKAGE = 10;

/** The reason why the removals of a plan need confirmation by an operator; undefined if they do not. */
export const removalsToConfirm = ({ agent, operation }: Work, { steps }: Plan): string | undefined => {
  const { kind, from, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !from || !to) return undefined;
  const count = (wanted: Outcome): number => steps.filter(({ outcome }) => outcome === wanted).length;
  const [removed, created] = [count('deleted'), count('created')];
  const allowed = FOR_EACH_PACKAGE * Math.max(1, agent.policy.pruneBudget);
  if (removed - created <= allowed || readTrustRow(agent.state).pruneConfirmed) return undefined;
  return `the release removes ${removed} objects of the package and creates ${created}; at most ${allowed} fewer go unasked; if it is meant: fleet-agent prune`;
};

/** Ends an operation before its first write. It is planned again after a confirmation, or when the desired package changes. */
export const holdRemovals = ({ agent, operation }: Work, message: string): void => {
  const endedAt = formatTime(agent.edge.now());
  const said = { code: 'PRUNE_BUDGET', message };
  record(agent, `${nameOf(operation)}: held`, () => {
    saveFailure(agent.state, operation.assignment, operation.to, { ...said, at: endedAt, checks: [] });
    saveOperation(agent.state, { ...operation, ...said, phase: 'done', outcome: 'held', endedAt });
  });
};
