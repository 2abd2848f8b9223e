import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetError, toFleetError } from '#bundles/errors';
import type { Look } from './look-around.ts';

/** What the daemon tells its log: one line each, fields beside the message. */
export type Log = {
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
};

/**
 * Looks around again and again until the signal. A look that fails is logged and tried at the next interval: a daemon
 * that dies of a full disk helps nobody to see it.
 * @param look one look under the lock; @param intervalMs from the end of one to the start of the next
 */
export const runDaemon = async (
  look: () => Promise<Look>,
  intervalMs: number,
  log: Log,
  signal: AbortSignal,
): Promise<void> => {
  while (!signal.aborted) {
    try {
      logLook(await look(), log);
    } catch (cause) {
      logRefusal(toFleetError(cause), log);
    }
    await sleep(intervalMs, undefined, { signal }).catch(() => {});
  }
  log.info({}, 'stopped');
};

const logLook = ({ packages, drift }: Look, log: Log): void => {
  for (const { message, ...fields } of packages) {
    const said = { ...fields, ...(message === undefined ? {} : { reason: message }) };
    if (fields.outcome === 'failed') log.error(said, 'package failed');
    else log.info(said, `package ${fields.outcome}`);
  }
  for (const { assignment, drift: items, corrected = false, failure, error } of drift) {
    if (error) log.error({ assignment, ...error }, 'live state could not be read');
    if (failure) log.error({ assignment, code: failure.code, reason: failure.message }, 'still broken');
    for (const { key, what, message } of items)
      log.warn({ assignment, key, what, corrected, reason: message }, 'drift');
  }
  log.info({ packages: drift.length, drifted: drift.filter((it) => it.drift.length > 0).length }, 'looked');
};

const logRefusal = ({ code, message, hint, retryable }: FleetError, log: Log): void => {
  if (code === 'ABORTED') return;
  log.error({ code, hint, retryable, reason: message }, 'look failed');
};
