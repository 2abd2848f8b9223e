import { closeSync, openSync, utimesSync, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Signals between a person's command and the daemon beside it: 'changed', the command has changed something here; 'asked', it
 * waits for the lock.
 */
export type Signal = 'changed' | 'asked';

/** One empty file each: its time is the signal. */
const fileOf = (directory: string, signal: Signal): string => join(directory, signal);

/** A daemon that runs here hears it at once, without waiting for its interval. */
export const ringNeighbour = (directory: string, signal: Signal, now: Date): void => {
  try {
    utimesSync(fileOf(directory, signal), now, now);
  } catch {
    // No daemon has ever run here, or the disk is in trouble: then it sees at its next look.
  }
};

/** The kernel tells, so that nothing has to be asked in between. Where it cannot, the interval does. */
export const hearNeighbour = (
  directory: string,
  heard: Signal,
  onRing: () => void,
  signal: AbortSignal,
): void => {
  try {
    closeSync(openSync(fileOf(directory, heard), 'a', 0o600));
    const watcher = watch(fileOf(directory, heard), { persistent: false, signal }, onRing);
    watcher.on('error', () => watcher.close());
  } catch {
    // A file system without notices, or a full disk.
  }
};
