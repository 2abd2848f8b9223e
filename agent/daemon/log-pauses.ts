import type { Persistence } from '../config/registry-of.ts';
import type { Log } from '../model/log.ts';

/** Logs the pauses that a registry asks for, which can delay a release: what it asked, and what the agent waits. */
export const logPauses =
  (log: Pick<Log, 'warn'>): NonNullable<Persistence['onWait']> =>
  ({ ms, askedMs, host }) => {
    if (askedMs === undefined) return;
    const seconds = (span: number): number => Math.round(span / 1000);
    log.warn(
      { host, asked: seconds(askedMs), waits: seconds(ms) },
      'the registry asks for a pause (seconds)',
    );
  };
