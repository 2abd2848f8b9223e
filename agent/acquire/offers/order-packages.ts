import { formatTime } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { unknownHealth } from '../../model/unknown-health.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { makeAllDue } from '../../store/applied/attempts.ts';
import { emptyRow } from '../../store/empty-row.ts';
import { ownsAnything } from '../../store/applied/inventory.ts';
import { isSamePackage, type PackageRef } from '../../store/applied/package-ref.ts';
import {
  deletePackage,
  findPackage,
  type PackageRow,
  readPackages,
  savePackage,
} from '../../store/applied/packages.ts';
import type { AcceptedOffer } from './accepted-offer.ts';

/** Stores the desired version of each package. Must run inside the accepting transaction; `reconcile` applies the changes. */
export const orderPackages = (agent: Agent, { packages, accepted }: AcceptedOffer): void => {
  // A local rollback ends with the next release that reaches this agent.
  const unpin = accepted.selected && accepted.release?.news === 'newer';
  // A new release may remove the cause of failures, so all retries are due at once.
  if (accepted.release?.news === 'newer') makeAllDue(agent.state, agent.edge.now());
  orderEach(agent, packages, unpin);
  const wanted = new Set(packages.map(({ assignment }) => assignment));
  for (const row of readPackages(agent.state)) {
    if (!wanted.has(row.assignment)) orderRemoval(agent, row);
  }
};

/** Stores the desired version of each of these packages, as one transaction of the caller. @param unpin ends local rollbacks */
export const orderEach = (agent: Agent, packages: readonly PackageRef[], unpin = false): void => {
  for (const desired of packages) {
    const row = findPackage(agent.state, desired.assignment) ?? emptyRow(agent, desired.assignment);
    orderPackage(agent, unpin ? { ...row, pinnedRelease: undefined } : row, desired);
  }
};

const orderPackage = (agent: Agent, row: PackageRow, desired: PackageRef): void => {
  const since = formatTime(agent.edge.now());
  if (!isSamePackage(row.current, desired)) {
    const status = isSamePackage(row.desired, desired) || row.status === 'broken' ? row.status : 'waiting';
    savePackage(agent.state, {
      ...row,
      desired,
      ...(status === row.status ? {} : { status, code: undefined, message: undefined, since }),
    });
    return;
  }
  const ended = row.status === 'failed' || row.status === 'skipped' || row.status === 'waiting';
  savePackage(agent.state, {
    ...row,
    desired,
    // The same content, with the references of the new release.
    current: desired,
    ...(ended ? { status: 'healthy', code: undefined, message: undefined, since } : {}),
  });
  if (!ended) return;
  // The release wants the running package again, so the earlier failure no longer applies.
  const { assignment, package: digest, siteValues, release } = desired;
  const what = { assignment, package: digest, siteValues, release };
  appendEvent(agent, { type: 'package', ...what, outcome: 'unchanged', ...unknownHealth(row.checks) });
};

const orderRemoval = (agent: Agent, row: PackageRow): void => {
  if (row.current) {
    // An update that waited for a confirmation says nothing about the removal.
    const isAsked = row.desired !== undefined && row.code === 'PRUNE_BUDGET';
    const said = isAsked ? { status: 'waiting' as const, code: undefined, message: undefined } : {};
    savePackage(agent.state, { ...row, ...said, desired: undefined, pinnedRelease: undefined });
  } else if (ownsAnything(agent.state, row.assignment)) {
    // It never started and its rollback failed, too: its remains are removed like the desired package.
    savePackage(agent.state, { ...row, desired: undefined, current: row.desired, pinnedRelease: undefined });
  } else {
    deletePackage(agent.state, row.assignment);
    if (row.status === 'failed' || row.status === 'broken') endFailure(agent, row);
  }
};

/** Ends the failure of a package that never ran, which was reported and would count for ever. */
const endFailure = (agent: Agent, { assignment, desired }: PackageRow): void =>
  appendEvent(agent, {
    type: 'removed',
    assignment,
    package: desired?.package,
    siteValues: desired?.siteValues,
    release: desired?.release,
    outcome: 'deleted',
    message: 'it never ran here, and left the release',
  });
