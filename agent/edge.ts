import { existsSync, readFileSync } from 'node:fs';
import { uptime, userInfo } from 'node:os';

/** What the outside tells a run: time, boot, person. Read here and nowhere else in the agent. */
export type Edge = {
  readonly now: () => Date;
  /** Milliseconds since this boot, whole. */
  readonly monotonicMs: () => number;
  readonly bootId: string;
  /** Is the clock known to be synchronised? */
  readonly clockTrusted: boolean;
  /** Who runs the command, for `operator` events. */
  readonly operator: string;
};

/** Whether the clock is believed: asked of the system, or said in the configuration. */
export type ClockTrust = 'auto' | 'trusted' | 'untrusted';

/** systemd-timesyncd touches this once it has set the clock, and only then. */
const SYNCHRONISED = '/run/systemd/timesync/synchronized';

/** @param now a fixed time for this run, or undefined for the system's clock */
export const readEdge = (now: Date | undefined, clock: ClockTrust, env: NodeJS.ProcessEnv): Edge => ({
  now: () => now ?? new Date(),
  monotonicMs: () => Math.floor(uptime() * 1000),
  bootId: readBootId(),
  // Asked each time: a daemon starts before the clock is set.
  get clockTrusted() {
    return clock === 'auto' ? existsSync(SYNCHRONISED) : clock === 'trusted';
  },
  operator: env['SUDO_USER'] ?? readUser(),
});

/** In a container the user often is a number that no passwd file names. */
export const readUser = (): string => {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.()}`;
  }
};

const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
};
