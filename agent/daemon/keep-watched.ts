import { writeFile } from 'node:fs/promises';
import { defined } from '#bundles/defined';
import { notifySystemd } from '#cli/notify-systemd';
import { NOTIFY_FAILED } from '#cli/notify-ready';
import type { Log } from '../model/log.ts';
import type { Progress } from './progress.ts';
import type { Sleep } from './wake-signal.ts';

/** Where a service manager wants to hear that the daemon makes progress. */
export type Watchdog = {
  /** systemd's watchdog (sd_notify(3)); absent without one. */
  readonly systemd?: { readonly socket: string; readonly ms: number };
  /** A file that is written again, for the liveness probe of a pod; absent without one. */
  readonly file?: string;
};

const FILE_MS = 60_000;

/**
 * Reads what the service manager wants, and removes it from the environment: programs that the agent starts do not speak for it.
 */
export const readWatchdog = (env: NodeJS.ProcessEnv): Watchdog => {
  const { NOTIFY_SOCKET: socket = '', WATCHDOG_USEC: usec = '', ALIVE_FILE: file = '' } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  const ms = Number(usec) / 1000;
  return defined({
    systemd: socket !== '' && ms > 0 ? { socket, ms } : undefined,
    file: file !== '' ? file : undefined,
  });
};

type Watched = {
  readonly progress: Progress;
  readonly sleep: Sleep;
  readonly log: Log;
  readonly signal: AbortSignal;
};

/**
 * Tells the service manager that the daemon makes progress, until it stops. When progress is overdue it says so once and tells nothing
 * more, so that the service manager restarts the agent, which continues from its journal. A blocked event loop tells nothing either.
 */
export const keepWatched = async (
  { systemd, file }: Watchdog,
  { progress, sleep, log, signal }: Watched,
): Promise<void> => {
  if (!systemd && file === undefined) return;
  // Three messages in the time of one: one may be lost, and one late.
  const rest = Math.min(systemd ? systemd.ms / 3 : FILE_MS, FILE_MS);
  let failing = false;
  while (!signal.aborted) {
    if (!progress.isMade()) {
      log.error({}, 'the daemon hangs: it waits to be restarted');
      return;
    }
    try {
      if (systemd) await notifySystemd(systemd.socket, 'WATCHDOG=1', signal);
      if (file !== undefined) await writeFile(file, '');
      failing = false;
    } catch (cause) {
      if (!failing && !signal.aborted) log.warn({ reason: String(cause) }, NOTIFY_FAILED);
      failing = true;
    }
    await sleep(rest, signal);
  }
};
