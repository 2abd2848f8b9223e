import { existsSync, readFileSync } from 'node:fs';
import { uptime, userInfo } from 'node:os';

/** Inputs from the environment of a run: clock, boot id, operator. The agent reads them only here. */
export type Edge = {
  readonly now: () => Date;
  /** Whole milliseconds since this boot. */
  readonly monotonicMs: () => number;
  readonly bootId: string;
  /** True if the clock is known to be synchronised. */
  readonly clockTrusted: boolean;
  /** Name of the user that runs the command, for `operator` events. */
  readonly operator: string;
};

/** Whether the agent trusts the clock: 'auto' asks the system, the other values come from the configuration. */
export type ClockTrust = 'auto' | 'trusted' | 'untrusted';

/** systemd-timesyncd creates this file when it has set the clock. */
const SYNCHRONISED = '/run/systemd/timesync/synchronized';

/** @param now a fixed time for this run, or undefined for the system's clock */
export const readEdge = (now: Date | undefined, clock: ClockTrust, env: NodeJS.ProcessEnv): Edge => ({
  now: () => now ?? new Date(),
  monotonicMs: () => Math.floor(uptime() * 1000),
  bootId: readBootId(),
  // Read on every access: a daemon may start before the clock is set.
  get clockTrusted() {
    return clock === 'auto' ? existsSync(SYNCHRONISED) : clock === 'trusted';
  },
  operator: env['SUDO_USER'] ?? readUser(),
});

/** The name of the current user, or 'uid <number>' where no passwd file names it, as in many containers. */
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
