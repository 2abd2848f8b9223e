import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, FleetError, isFleetError } from '#bundles/errors';

// The trial of a new version of this program's Debian package; deploy/debian/fleet-agent.trial describes the files.

/** Name of the Debian package of this program. */
export const OWN_PACKAGE = 'fleet-agent';

const placeOf = (state: string, ...names: readonly string[]): string => join(state, 'upgrade', ...names);

export const isTrialUnderWay = (state: string): boolean => existsSync(placeOf(state, 'trial'));

/** Whether another version is on trial, and this process still runs the version before it. */
export const isBeingReplaced = (state: string): boolean =>
  isTrialUnderWay(state) && !isSameFile('/proc/self/exe', process.execPath);

/** The version that is replaced changes nothing any more, as its steps would run in the new version. @throws FleetError ABORTED */
export const stopIfReplaced = (state: string): void => {
  if (!isBeingReplaced(state)) return;
  throw new FleetError('ABORTED', 'a new version of the agent is on trial and continues', {
    hint: 'fleet-agent status shows how it ends',
  });
};

/** State of the last upgrade of this program, for people: what happened, and what they do. */
export type Upgrade = { readonly kind: 'trial' | 'going-back' | 'undone'; readonly message: string };

const PROGRESS = '"journalctl -u fleet-agent-trial" shows the progress';

/** undefined: no upgrade is under way, and the last one was not undone. */
export const readUpgrade = (state: string): Upgrade | undefined => {
  const version = readLine(placeOf(state, 'trial'));
  if (version === undefined) {
    const undone = readLine(placeOf(state, 'undone'));
    return undone === undefined ? undefined : { kind: 'undone', message: undone };
  }
  const named = `${OWN_PACKAGE} ${version}`;
  if (existsSync(placeOf(state, 'back'))) {
    const why = whyVersionRefused(state, version);
    const failed = why === undefined ? `the upgrade to ${named} was interrupted` : `${named} failed: ${why}`;
    const message = `${failed}; the version before it is being installed again. Leave the machine on; ${PROGRESS}`;
    return { kind: 'going-back', message };
  }
  const message = `${named} is on trial. It stays once it has completed a look at this machine, otherwise the version before it is installed again. Leave the machine on; ${PROGRESS}`;
  return { kind: 'trial', message };
};

/** undefined for a file that does not exist, or that another user may not read. */
const readLine = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
};

const VERSION_CODES: ReadonlySet<ErrorCode> = new Set(['AGENT_TOO_OLD', 'STORE_CORRUPT']);

/**
 * Opens the database. During a trial it may be that of the other version, or the copy is being restored: then the hint says to wait.
 * A new version migrates it, so nothing opens it until fleet-agent.trial has copied it.
 * @throws FleetError as openState; BUSY while an upgrade has no copy of the database yet
 */
export const openDuringTrial = <T>(state: string, open: () => T): T => {
  if (isTrialUnderWay(state) && !existsSync(placeOf(state, 'state')))
    throw new FleetError('BUSY', 'the agent is being upgraded', {
      hint: readUpgrade(state)?.message ?? 'Run it again',
    });
  try {
    return open();
  } catch (error) {
    const upgrade = isTrialUnderWay(state) ? readUpgrade(state) : undefined;
    if (upgrade === undefined || !isFleetError(error) || !VERSION_CODES.has(error.code)) throw error;
    throw new FleetError(error.code, error.message, { hint: upgrade.message, cause: error });
  }
};

const isSameFile = (one: string, two: string): boolean => {
  const [a, b] = [one, two].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a?.dev === b?.dev && a?.ino === b?.ino;
};

/** Why this Debian version did not come up on this host; undefined if it was not tried, or may be tried again. */
export const whyVersionRefused = (state: string, version: string): string | undefined => {
  const file = placeOf(state, 'refused', version);
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined;
};

/**
 * Ends the trial of this version after a completed look: writes the file that fleet-agent-trial.service waits for. Without a trial
 * it does nothing. A file that cannot be written is not an error of the look: the trial then goes back at its limit.
 */
export const confirmUpgrade = (state: string): void => {
  if (!isTrialUnderWay(state)) return;
  try {
    writeFileSync(placeOf(state, 'healthy'), '');
  } catch {
    // The trial's limit reports it.
  }
};
