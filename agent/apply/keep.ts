import type { Outcome } from '#bundles/report/event';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { type Operation, readResults, saveOperation } from '../journal/operations.ts';
import { changesOf, failedChecksOf } from '../report/changes.ts';
import { appendEvent } from '../report/outbox.ts';
import { tellChecks } from '../report/tell-checks.ts';
import { emptyRow } from '../store/empty-row.ts';
import { findFailure } from '../store/failures.ts';
import { addOwned, keepOwned } from '../store/inventory.ts';
import { isSame } from '../store/package-ref.ts';
import { deletePackage, findPackage, type PackageRow, savePackage } from '../store/packages.ts';
import { unknownHealth } from './unknown-health.ts';
import type { Work } from './work.ts';

/** The end of a way that was gone without a failure: forward it is kept, backward it is the last good one again. */
export const keep = ({ agent, operation }: Work): void => {
  record(agent, `${nameOf(operation)}: kept`, () => {
    const owns = new Set(operation.plan?.owns.map(({ key }) => key));
    keepOwned(agent.state, operation.assignment, owns);
    if (operation.rollingBack) endRolledBack(agent, operation);
    else endKept(agent, operation);
  });
};

const done = (agent: Agent, operation: Operation, outcome: Operation['outcome']): void =>
  saveOperation(agent.state, {
    ...operation,
    phase: 'done',
    outcome,
    endedAt: formatTime(agent.edge.now()),
  });

const endKept = (agent: Agent, operation: Operation): void => {
  const { state } = agent;
  const { assignment, kind, to } = operation;
  const row = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const results = readResults(state, operation);
  const changed = results.some(({ outcome }) => outcome !== 'unchanged');
  done(agent, operation, 'kept');
  switch (kind) {
    case 'remove':
      deletePackage(state, assignment);
      break;
    case 'correct':
      savePackage(state, correctedRow(agent, row, operation, changed));
      break;
    case 'apply':
    case 'restore':
      savePackage(state, appliedRow(agent, row, operation));
      break;
  }
  // A correction that found nothing to correct and nothing broken has changed nothing, so it tells nothing.
  if (kind !== 'correct' || changed || row.status === 'broken') {
    const ref = to ?? operation.from;
    appendEvent(agent, {
      type: EVENT_TYPES[kind],
      assignment,
      ...(ref ? { package: ref.package, siteValues: ref.siteValues, release: ref.release } : {}),
      outcome: outcomeOf(operation, changed),
      ...(kind === 'restore' && row.pinnedReason !== undefined ? { message: row.pinnedReason } : {}),
      ...(kind === 'apply' ? unknownHealth(operation.checks) : {}),
      detail: { operation: kind, ...changesOf(results) },
    });
  }
  if (kind === 'correct' && row.status === 'broken') tellWell(agent, operation);
  if (to) tellChecks(agent, row, to, operation.checks);
};

/** That it broke was told as a step of the package, so its end is told as one: whoever counts steps hears both. */
const tellWell = (agent: Agent, { assignment, to, checks }: Operation): void => {
  const row = findPackage(agent.state, assignment);
  const ref = row?.status === 'failed' ? row.desired : to;
  if (!row || !ref) return;
  appendEvent(agent, {
    type: 'package',
    assignment,
    package: ref.package,
    siteValues: ref.siteValues,
    release: ref.release,
    ...(row.status === 'failed'
      ? { outcome: 'failed' as const, code: row.code, message: row.message }
      : { outcome: 'unchanged' as const, message: 'what runs is well again', ...unknownHealth(checks) }),
  });
};

const EVENT_TYPES = {
  apply: 'package',
  restore: 'rolled-back',
  correct: 'corrected',
  remove: 'removed',
} as const;

const outcomeOf = ({ kind, from }: Operation, changed: boolean): Outcome => {
  if (kind === 'remove') return 'deleted';
  if (!from) return 'created';
  return changed ? 'configured' : 'unchanged';
};

const appliedRow = (agent: Agent, row: PackageRow, operation: Operation): PackageRow => {
  const { kind, from, to, checks } = operation;
  const before = from && !isSame(from, to) ? from : row.previous;
  return {
    ...row,
    current: to,
    // What a person rolled back from is no place to go back to.
    previous: kind === 'restore' ? undefined : before,
    status: 'healthy',
    code: undefined,
    message: undefined,
    checks,
    drift: undefined,
    since: formatTime(agent.edge.now()),
  };
};

const correctedRow = (agent: Agent, row: PackageRow, operation: Operation, changed: boolean): PackageRow => {
  const seen = { ...row, checks: operation.checks, drift: changed ? undefined : row.drift };
  if (row.status !== 'broken') return seen;
  const failure = isSame(row.current, row.desired)
    ? undefined
    : findFailure(agent.state, row.assignment, row.desired);
  return {
    ...seen,
    status: failure ? 'failed' : 'healthy',
    code: failure?.code,
    message: failure?.message,
    since: formatTime(agent.edge.now()),
  };
};

const endRolledBack = (agent: Agent, operation: Operation): void => {
  const { state } = agent;
  const { assignment, kind, from, plan, handed } = operation;
  const row = findPackage(state, assignment) ?? emptyRow(agent, assignment);
  const owns = new Set(plan?.owns.map(({ key }) => key));
  for (const { assignment: owner, object } of handed) {
    if (!owns.has(object.key)) addOwned(state, owner, [object]);
  }
  done(agent, operation, 'rolled-back');
  const { code, message } = operation;
  savePackage(state, {
    ...row,
    ...(kind === 'restore' ? { pinnedRelease: undefined } : { status: 'failed', code, message }),
    drift: undefined,
    checks: operation.checks,
    since: formatTime(agent.edge.now()),
  });
  // What is tried again at every look and fails for the same reason is no news.
  const remembered = findFailure(state, assignment, operation.to);
  const news = kind === 'restore' || remembered !== undefined || row.code !== code || row.message !== message;
  if (!news) return;
  appendEvent(agent, {
    type: 'rolled-back',
    assignment,
    ...(from ? { package: from.package, siteValues: from.siteValues, release: from.release } : {}),
    outcome: from ? 'configured' : 'deleted',
    ...(code === undefined ? {} : { code }),
    ...(message === undefined ? {} : { message }),
    detail: {
      operation: kind,
      ...failedChecksOf(remembered?.checks ?? []),
      ...changesOf(readResults(state, operation)),
    },
  });
  if (from) tellChecks(agent, row, from, operation.checks);
};
