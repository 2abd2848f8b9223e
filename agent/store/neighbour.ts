import { closeSync, openSync, utimesSync, watch } from 'node:fs';
import { join } from 'node:path';

/** One empty file: its time is the bell between a person's command and the daemon beside it. */
const bellOf = (directory: string): string => join(directory, 'changed');

/** A command has changed something here: a daemon looks, watches and reports anew without waiting for its interval. */
export const ringNeighbour = (directory: string, now: Date): void => {
  try {
    utimesSync(bellOf(directory), now, now);
  } catch {
    // No daemon has ever run here, or the disk is in trouble: then it sees at its next look.
  }
};

/** The kernel tells, so that nothing has to be asked in between. Where it cannot, the interval does. */
export const hearNeighbour = (directory: string, onRing: () => void, signal: AbortSignal): void => {
  try {
    closeSync(openSync(bellOf(directory), 'a', 0o600));
    const watcher = watch(bellOf(directory), { persistent: false, signal }, onRing);
    watcher.on('error', () => watcher.close());
  } catch {
    // A file system without notices, or a full disk.
  }
};
