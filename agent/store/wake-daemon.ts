import { closeSync, openSync, utimesSync, watch } from 'node:fs';
import { join } from 'node:path';

/**
 * Signals from an operator's command to the daemon on the same machine. 'changed': the command has changed the state.
 * 'asked': the command waits for the lock.
 */
export type WakeReason = 'changed' | 'asked';

/** Path of the empty file of a signal; a change of its modification time is the signal. */
const fileOf = (directory: string, signal: WakeReason): string => join(directory, signal);

/** Wakes a daemon that runs on this state directory, so that it does not wait for its interval. */
export const wakeDaemon = (directory: string, signal: WakeReason, now: Date): void => {
  try {
    utimesSync(fileOf(directory, signal), now, now);
  } catch {
    // No daemon has ever run here, or the disk fails. A daemon notices the change at its next look.
  }
};

/** Watches for a signal by file notification instead of polling. Without notifications, the daemon's interval applies. */
export const watchWakeups = (
  directory: string,
  heard: WakeReason,
  onRing: () => void,
  signal: AbortSignal,
): void => {
  try {
    closeSync(openSync(fileOf(directory, heard), 'a', 0o600));
    const watcher = watch(fileOf(directory, heard), { persistent: false, signal }, onRing);
    watcher.on('error', () => watcher.close());
  } catch {
    // A file system without notifications, or a full disk.
  }
};
