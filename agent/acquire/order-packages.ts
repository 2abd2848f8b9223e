import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { unknownHealth } from '../apply/unknown-health.ts';
import { appendEvent } from '../report/outbox.ts';
import { makeAllDue } from '../store/attempts.ts';
import { emptyRow } from '../store/empty-row.ts';
import { ownsAnything } from '../store/inventory.ts';
import { isSame, type PackageRef } from '../store/package-ref.ts';
import { deletePackage, findPackage, type PackageRow, readPackages, savePackage } from '../store/packages.ts';
import type { AcceptedOffer } from './accepted-offer.ts';

/** Writes what is wanted of each package; inside the accepting transaction. What runs is for reconcile to change. */
export const orderPackages = (agent: Agent, { packages, accepted }: AcceptedOffer): void => {
  // A local rollback ends with the next release that reaches this agent.
  const unpin = accepted.selected && accepted.release?.news === 'newer';
  // What may have been in the way of the release before is tried at once with the new one.
  if (accepted.release?.news === 'newer') makeAllDue(agent.state, agent.edge.now());
  for (const desired of packages) {
    const row = findPackage(agent.state, desired.assignment) ?? emptyRow(agent, desired.assignment);
    orderPackage(agent, unpin ? { ...row, pinnedRelease: undefined } : row, desired);
  }
  const wanted = new Set(packages.map(({ assignment }) => assignment));
  for (const row of readPackages(agent.state)) {
    if (!wanted.has(row.assignment)) orderRemoval(agent, row);
  }
};

const orderPackage = (agent: Agent, row: PackageRow, desired: PackageRef): void => {
  const since = formatTime(agent.edge.now());
  if (!isSame(row.current, desired)) {
    const status = isSame(row.desired, desired) || row.status === 'broken' ? row.status : 'waiting';
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
    // The same package under the names of the new release.
    current: desired,
    ...(ended ? { status: 'healthy', code: undefined, message: undefined, since } : {}),
  });
  if (!ended) return;
  // The release came back to what runs: the failure before it is over.
  const { assignment, package: digest, siteValues, release } = desired;
  const what = { assignment, package: digest, siteValues, release };
  appendEvent(agent, { type: 'package', ...what, outcome: 'unchanged', ...unknownHealth(row.checks) });
};

const orderRemoval = (agent: Agent, row: PackageRow): void => {
  if (row.current) {
    savePackage(agent.state, { ...row, desired: undefined, pinnedRelease: undefined });
  } else if (ownsAnything(agent.state, row.assignment)) {
    // It never came up, and its way back failed too: what is left of it is removed as what it was to be.
    savePackage(agent.state, { ...row, desired: undefined, current: row.desired, pinnedRelease: undefined });
  } else {
    deletePackage(agent.state, row.assignment);
  }
};
