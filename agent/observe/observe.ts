import { defined } from '#bundles/defined';
import { toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import { begin, perform } from '../apply/perform.ts';
import { finishRemoval, mayBeGone } from '../apply/finish-removals.ts';
import { findRunning } from '../apply/find-running.ts';
import type { CheckResult, Drift } from '../model/target.ts';
import { uncheckedCheck, unknownHealth } from '../model/unknown-health.ts';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { listed } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { dueForHealth, findAttempt, HEALTH, isDue } from '../store/applied/attempts.ts';
import { readOwned, readKeysOfOthers } from '../store/applied/inventory.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import {
  findPackage,
  isHalfRemoved,
  type PackageRow,
  readPackages,
  type SeenDrift,
  savePackage,
} from '../store/applied/packages.ts';
import { recordLook } from '../store/last-look.ts';
import { foughtDrift, noteCorrection } from './fight.ts';
import { judgeHealth } from './judge-health.ts';

export type PackageDrift = {
  readonly assignment: string;
  readonly drift: readonly Drift[];
  /** Objects that could not be compared: neither different nor in sync. Absent without one. */
  readonly unchecked?: readonly Drift[];
  /** Whether this look corrected the package; absent if nothing differed and nothing was broken. */
  readonly corrected?: boolean;
  /** Why the correction failed. */
  readonly failure?: { readonly code: string; readonly message: string };
  /** Why the comparison failed, which never counts as in sync. */
  readonly error?: { readonly code: string; readonly message: string };
};

/** Findings of a look at one package. `isOpen`: whether the package is well is left to its checks. */
type Seen = { readonly seen: PackageDrift; readonly isOpen: boolean };

type Running = PackageRow & { readonly current: PackageRef };

/**
 * Compares live state with the applied packages. A package that was never applied successfully is reported as missing. Writes
 * nothing. @param assignments empty for all @throws FleetError ABORTED, USAGE for an unknown package
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
    found.push(isRunning(row) ? (await lookAt(agent, row)).seen : missing(row));
  }
  return found;
};

const isRunning = (row: PackageRow): row is Running => row.current !== undefined;

const missing = ({ assignment, status, code, message }: PackageRow): PackageDrift => {
  const why = code === undefined ? status : `${status}: ${code}: ${message}`;
  const item = { key: `package:${assignment}`, what: 'missing', message: `does not run here (${why})` };
  return { assignment, drift: [item] };
};

/** Waits for the health of packages: within the look, or, in the daemon, concurrently with it. */
export type HealthWaits = {
  /** True while a wait for the health of this package is under way. */
  readonly isWaiting: (assignment: string) => boolean;
  /** Starts the waits; resolves when the look may continue. */
  readonly wait: (assignments: readonly string[]) => Promise<void>;
};

const NONE: ReadonlySet<string> = new Set();

/**
 * Checks all packages for drift, reports each difference once, and corrects it if the policy permits. Waits for health only
 * after that, so that an unhealthy package does not delay others. Returns the findings, corrected or not.
 * @param except packages that are left to the next look @param settled packages whose checks have just passed
 */
export const observe = async (
  agent: Agent,
  waits: HealthWaits = waitHere(agent),
  {
    except = NONE,
    settled = NONE,
  }: { readonly except?: ReadonlySet<string>; readonly settled?: ReadonlySet<string> } = {},
): Promise<readonly PackageDrift[]> => {
  const { state, edge, policy } = agent;
  const found: PackageDrift[] = [];
  const broken = new Set<string>();
  const open: string[] = [];
  const running = runningPackages(agent);
  for (const row of running) {
    if (except.has(row.assignment)) continue;
    if (row.status === 'broken') broken.add(row.assignment);
    const { seen: looked, isOpen } = await lookAt(agent, row);
    const fought = foughtDrift(agent, row.assignment, looked.drift);
    const seen = fought ? { ...looked, drift: fought } : looked;
    noteDrift(agent, noteUnchecked(agent, row, seen), seen);
    if (isOpen && row.status === 'healthy' && !settled.has(row.assignment)) open.push(row.assignment);
    if (!isWrong(agent, row, seen, waits)) {
      found.push(seen);
      // Objects whose removal has begun are not drift; the removal continues under any drift policy.
      if (mayBeGone(agent, row)) await finishRemoval(agent, row);
    } else if (policy.onDrift === 'correct' && !fought) {
      const done = await correct(agent, row);
      if (done.corrected) noteCorrection(agent, row.assignment, seen.drift);
      found.push({ ...seen, ...done });
    } else found.push({ ...seen, corrected: false });
  }
  noteLook(agent, running, found);
  const due = [...new Set([...dueForHealth(state, edge.now()), ...open])].filter(
    (assignment) => !waits.isWaiting(assignment),
  );
  await waits.wait(due);
  return found.map((seen) => withHealth(agent, seen, broken.has(seen.assignment)));
};

/**
 * Compares all packages with live state and judges the checks of those that are healthy. Stores and reports what it finds, as a look
 * of the daemon does, and changes nothing on the target. @throws FleetError ABORTED, DISK_FULL
 */
export const lookOnly = async (agent: Agent): Promise<readonly PackageDrift[]> => {
  const running = runningPackages(agent);
  const found: PackageDrift[] = [];
  const open: string[] = [];
  for (const row of running) {
    const { seen, isOpen } = await lookAt(agent, row);
    noteDrift(agent, noteUnchecked(agent, row, seen), seen);
    found.push(seen);
    if (isOpen && row.status === 'healthy') open.push(row.assignment);
  }
  noteLook(agent, running, found);
  await waitHere(agent).wait(open);
  return found.map((seen) => withHealth(agent, seen, false));
};

const noteLook = (agent: Agent, running: readonly Running[], found: readonly PackageDrift[]): void => {
  const read = found.filter(({ error }) => error === undefined).map(({ assignment }) => assignment);
  recordLook(agent, { read, all: running.map(({ assignment }) => assignment) });
};

/** Waits within the look for all packages concurrently. */
const waitHere = (agent: Agent): HealthWaits => ({
  isWaiting: () => false,
  wait: async (assignments) => {
    await Promise.all(assignments.map((assignment) => judgeHealth(agent, assignment, (work) => work())));
  },
});

/**
 * Tells whether to correct a package now. Drift is corrected at once. A broken package is applied again after pauses that
 * double, unless another object differs: its checks may have failed with correct files, and a failed correction would fail again.
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

/** Adds the failure of a package that is broken after the look, or `corrected` if it was broken before and no longer is. */
const withHealth = ({ state }: Agent, seen: PackageDrift, wasBroken: boolean): PackageDrift => {
  const { status, code = '', message = '' } = findPackage(state, seen.assignment) ?? {};
  if (status === 'broken') return { ...seen, corrected: false, failure: { code, message } };
  return wasBroken ? { ...seen, corrected: true } : seen;
};

const runningPackages = ({ state }: Agent): readonly Running[] =>
  readPackages(state)
    .filter(isRunning)
    .filter((row) => !isHalfRemoved(row));

const lookAt = async (agent: Agent, { assignment, current }: Running): Promise<Seen> => {
  const { state, signal } = agent;
  checkAborted(signal);
  try {
    const target = agent.targets.find(({ kind }) => kind === current.kind);
    const desired = await loadPackage(state, agent.identity.agent, current, signal);
    const taken = readKeysOfOthers(state, assignment);
    const drift = (await target?.observe(desired, readOwned(state, assignment), signal, taken)) ?? [];
    // Objects that another package has taken over are not drift of this one.
    const own = drift.filter(({ key }) => !taken.has(key));
    const unchecked = own.filter((it) => it.unchecked);
    const seen = defined({
      assignment,
      drift: own.filter((it) => !it.unchecked),
      unchecked: unchecked.length > 0 ? unchecked : undefined,
    });
    return { seen, isOpen: target?.leavesOpen?.(desired) ?? false };
  } catch (cause) {
    checkAborted(signal);
    const error = toFleetError(cause);
    const seen = { assignment, drift: [], error: { code: error.code, message: sentenceOf(error) } };
    return { seen, isOpen: false };
  }
};

/**
 * Stores what could not be compared with the checks of the package, and reports when something can no longer, or again, be checked. The health
 * of a package that failed or was rolled back says more, and stays.
 * @returns the package as it is stored now
 */
const noteUnchecked = (
  agent: Agent,
  row: Running,
  { assignment, drift, unchecked = [], error }: PackageDrift,
): Running => {
  const before = row.checks.filter(({ key }) => key !== undefined);
  const now = unchecked.map(uncheckedCheck);
  if (error || JSON.stringify(before) === JSON.stringify(now)) return row;
  const keysOf = (checks: readonly CheckResult[]) => checks.map(({ key }) => key).join('\n');
  const checks = [...row.checks.filter(({ key }) => key === undefined), ...now];
  const isNews =
    keysOf(before) !== keysOf(now) && row.status === 'healthy' && row.pinnedRelease === undefined;
  // The hub takes the event for the end of a drift, which the next one reports again.
  const next = { ...row, checks, drift: isNews && drift.length > 0 ? undefined : row.drift };
  record(agent, `checked ${assignment}`, () => {
    savePackage(agent.state, next);
    if (!isNews) return;
    const { package: digest, siteValues, release } = row.current;
    appendEvent(agent, {
      type: 'package',
      assignment,
      package: digest,
      siteValues,
      release,
      outcome: 'unchanged',
      message: 'all of the package can be checked again',
      ...unknownHealth(checks),
    });
  });
  return next;
};

/** Stores and reports drift if it differs from the drift of the last look. */
const noteDrift = (agent: Agent, row: Running, { assignment, drift, error }: PackageDrift): void => {
  const before = row.drift;
  if (drift.length === 0 && error === undefined) {
    if (before) record(agent, `no drift ${assignment}`, () => clearDrift(agent, row));
    return;
  }
  const { shown, more } = listed(drift.map(({ key, what, message }) => ({ key, what, message })));
  const seen: SeenDrift = defined({
    first: before?.first ?? formatTime(agent.edge.now()),
    items: shown,
    error,
  });
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
      detail: defined({ drift: shown, first: seen.first, more: more > 0 ? more : undefined }),
    });
  });
};

/** Reports drift that disappeared without a correction. */
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
    message: 'live state matches the package again',
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
  return defined({ corrected: false, failure: said ? { code, message } : undefined });
};
