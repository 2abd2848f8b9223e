import { toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import { begin, perform } from '../apply/perform.ts';
import { findRunning } from '../apply/roll-back-package.ts';
import type { Drift } from '../apply/target.ts';
import { checkAborted, record } from '../journal/boundary.ts';
import { listed } from '../report/changes.ts';
import { appendEvent } from '../report/outbox.ts';
import { sentenceOf } from '../report/sentence-of.ts';
import { dueForHealth, findAttempt, HEALTH, isDue, REMOVAL } from '../store/attempts.ts';
import { readLeaving, readOwned, readTaken } from '../store/inventory.ts';
import type { PackageRef } from '../store/package-ref.ts';
import {
  findPackage,
  isHalfRemoved,
  type PackageRow,
  readPackages,
  type SeenDrift,
  savePackage,
} from '../store/packages.ts';
import { judgeHealth } from './judge-health.ts';

export type PackageDrift = {
  readonly assignment: string;
  readonly drift: readonly Drift[];
  /** Said where something differed or was broken: was it set right in this look? */
  readonly corrected?: boolean;
  /** Why setting it right failed. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** It could not be told what differs: never taken for 'nothing does'. */
  readonly error?: { readonly code: string; readonly message: string };
};

type Running = PackageRow & { readonly current: PackageRef };

/**
 * Live state against what was kept, package by package; one that is wanted and of which nothing was kept is missing as a whole.
 * Writes nothing. @param assignments none for all @throws FleetError ABORTED, USAGE for a package that is not here
 */
export const lookAtDrift = async (
  agent: Agent,
  assignments: readonly string[] = [],
): Promise<readonly PackageDrift[]> => {
  const found: PackageDrift[] = [];
  const rows =
    assignments.length === 0
      ? readPackages(agent.state)
      : assignments.map((assignment) => findRunning(agent, assignment));
  for (const row of rows.filter((it) => !isHalfRemoved(it))) {
    found.push(isRunning(row) ? await lookAt(agent, row) : missing(row));
  }
  return found;
};

const isRunning = (row: PackageRow): row is Running => row.current !== undefined;

const missing = ({ assignment, status, code, message }: PackageRow): PackageDrift => {
  const why = code === undefined ? status : `${status}: ${code}: ${message}`;
  const item = { key: `package:${assignment}`, what: 'missing', message: `does not run here (${why})` };
  return { assignment, drift: [item] };
};

/** Waits for the health of packages: in the look, or (in the daemon) beside it. */
export type HealthWaits = {
  /** Is the health of this package being waited for already? */
  readonly isWaiting: (assignment: string) => boolean;
  /** Begins to wait for all of them; resolves when the look may go on. */
  readonly wait: (assignments: readonly string[]) => Promise<void>;
};

/**
 * One look of the daemon: reports what differs, once, and corrects it if the policy says so; all of it before any package's health
 * is waited for, so that one that does not become healthy holds no other. Returns what the look found, corrected or not.
 */
export const observe = async (
  agent: Agent,
  waits: HealthWaits = waitHere(agent),
): Promise<readonly PackageDrift[]> => {
  const { state, edge, policy } = agent;
  const found: PackageDrift[] = [];
  const broken = new Set<string>();
  for (const row of runningPackages(agent)) {
    if (row.status === 'broken') broken.add(row.assignment);
    const seen = await lookAt(agent, row);
    noteDrift(agent, row, seen);
    if (!isWrong(agent, row, seen, waits)) {
      found.push(seen);
      // Its removal has begun: it is no drift, and goes on whatever the policy says about drift.
      if (mayBeGone(agent, row)) await correct(agent, row);
    } else if (policy.onDrift === 'correct') found.push({ ...seen, ...(await correct(agent, row)) });
    else found.push({ ...seen, corrected: false });
  }
  const due = dueForHealth(state, edge.now()).filter((assignment) => !waits.isWaiting(assignment));
  await waits.wait(due);
  return found.map((seen) => withHealth(agent, seen, broken.has(seen.assignment)));
};

/** In the look: all at once, each for as long as it takes. */
const waitHere = (agent: Agent): HealthWaits => ({
  isWaiting: () => false,
  wait: async (assignments) => {
    await Promise.all(assignments.map((assignment) => judgeHealth(agent, assignment, (work) => work())));
  },
});

/**
 * Drift is corrected at once. A package that is broken is applied and judged again after a pause that doubles: its checks may
 * have failed while its files are right, and a correction that fails now fails a moment later as well, unless something else differs.
 */
const isWrong = (
  { state, edge }: Agent,
  { assignment, status, code, drift: before }: Running,
  { drift }: PackageDrift,
  { isWaiting }: HealthWaits,
): boolean => {
  const correctable = drift.filter(({ stays }) => !stays);
  const isNews = correctable.some(({ key }) => before?.items.every((item) => item.key !== key) ?? true);
  if (correctable.length > 0 && (status !== 'broken' || code === 'CHECK_FAILED' || isNews)) return true;
  if (status !== 'broken' || isWaiting(assignment)) return false;
  const attempt = findAttempt(state, assignment, HEALTH);
  return attempt === undefined || isDue(attempt, edge.now());
};

/** Something that left the package was still being deleted, and the pause since it was last asked for is over. */
const mayBeGone = ({ state, edge }: Agent, { assignment }: Running): boolean => {
  if (readLeaving(state, assignment).length === 0) return false;
  const attempt = findAttempt(state, assignment, REMOVAL);
  return attempt === undefined || isDue(attempt, edge.now());
};

/** A package that is broken after the look says so, also where nothing differs; one that no longer is does too. */
const withHealth = ({ state }: Agent, seen: PackageDrift, wasBroken: boolean): PackageDrift => {
  const { status, code = '', message = '' } = findPackage(state, seen.assignment) ?? {};
  if (status === 'broken') return { ...seen, corrected: false, failure: { code, message } };
  return wasBroken ? { ...seen, corrected: true } : seen;
};

const runningPackages = ({ state }: Agent): readonly Running[] =>
  readPackages(state)
    .filter(isRunning)
    .filter((row) => !isHalfRemoved(row));

const lookAt = async (agent: Agent, { assignment, current }: Running): Promise<PackageDrift> => {
  const { state, signal } = agent;
  checkAborted(signal);
  try {
    const target = agent.targets.find(({ kind }) => kind === current.kind);
    const desired = await loadPackage(state, agent.identity.agent, current, signal);
    const drift = (await target?.observe(desired, readOwned(state, assignment), signal)) ?? [];
    // What another package has taken over is no longer ours to miss.
    const taken = readTaken(state, assignment);
    return { assignment, drift: drift.filter(({ key }) => !taken.has(key)) };
  } catch (cause) {
    checkAborted(signal);
    const error = toFleetError(cause);
    return { assignment, drift: [], error: { code: error.code, message: sentenceOf(error) } };
  }
};

/** Told when it differs from what was seen last, not at every look. */
const noteDrift = (agent: Agent, row: Running, { assignment, drift, error }: PackageDrift): void => {
  const before = row.drift;
  if (drift.length === 0 && error === undefined) {
    if (before) record(agent, `no drift ${assignment}`, () => clearDrift(agent, row));
    return;
  }
  const { shown, more } = listed(drift.map(({ key, what, message }) => ({ key, what, message })));
  const seen: SeenDrift = {
    first: before?.first ?? formatTime(agent.edge.now()),
    items: shown,
    ...(error ? { error } : {}),
  };
  if (before && JSON.stringify({ ...seen }) === JSON.stringify(before)) return;
  const { package: digest, siteValues, release } = row.current;
  record(agent, `drift ${assignment}`, () => {
    savePackage(agent.state, { ...row, drift: seen });
    appendEvent(agent, {
      type: 'drift',
      assignment,
      package: digest,
      siteValues,
      release,
      ...(error
        ? { code: error.code, message: `live state could not be read: ${error.message}` }
        : {
            code: 'DRIFT',
            message: `${drift.length === 1 ? '1 object differs' : `${drift.length} objects differ`} from the package`,
          }),
      detail: { drift: shown, first: seen.first, ...(more > 0 ? { more } : {}) },
    });
  });
};

/** Somebody else has set it right: that is a change too. */
const clearDrift = (agent: Agent, row: Running): void => {
  const { assignment, current } = row;
  savePackage(agent.state, { ...row, drift: undefined });
  appendEvent(agent, {
    type: 'drift',
    assignment,
    package: current.package,
    siteValues: current.siteValues,
    release: current.release,
    outcome: 'unchanged',
    message: 'live state is as the package says again',
    detail: { drift: [] },
  });
};

const correct = async (
  agent: Agent,
  { assignment }: Running,
): Promise<Pick<PackageDrift, 'corrected' | 'failure'>> => {
  const current = findPackage(agent.state, assignment)?.current;
  const id = begin(agent, { assignment, kind: 'correct', from: current, to: current });
  const { outcome, code, message } = await perform(agent, id);
  if (outcome === 'kept') return { corrected: true };
  const said = code !== undefined && message !== undefined;
  return { corrected: false, ...(said ? { failure: { code, message } } : {}) };
};
