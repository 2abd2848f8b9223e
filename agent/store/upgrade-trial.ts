import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';

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

const isSameFile = (one: string, two: string): boolean => {
  const [a, b] = [one, two].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a?.dev === b?.dev && a?.ino === b?.ino;
};

/** Why this Debian version did not come up on this host; undefined if it was not tried, or may be tried again. */
export const whyRefused = (state: string, version: string): string | undefined => {
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
