import { defined } from '#bundles/defined';
import type { Look } from './look-around.ts';
import type { Log } from '../model/log.ts';

/** Logs what is new in a look. An unchanged condition (a failed package, an unreachable API) is logged once. */
export type LookLog = (look: Look) => void;

export const createLookLog = (log: Log): LookLog => {
  const said = new Map<string, string>();
  return ({ packages, drift, stale }) => {
    const seen = new Set<string>();
    const say = (key: string, level: keyof Log, fields: object, message: string): void => {
      seen.add(key);
      const text = JSON.stringify([level, fields, message]);
      if (said.get(key) === text) return;
      said.set(key, text);
      log[level](fields, message);
    };
    if (stale) {
      const { since, causes } = stale;
      say(
        'stale',
        'warn',
        { since, reason: causes.map(({ why, todo }) => `${why}; ${todo}`).join('. ') },
        'stale',
      );
    }
    for (const { message, ...fields } of packages) {
      const level = fields.outcome === 'failed' ? 'error' : 'info';
      const what = { ...fields, ...defined({ reason: message }) };
      say(`package ${fields.assignment}`, level, what, `package ${fields.outcome}`);
    }
    for (const { assignment, drift: items, unchecked = [], corrected = false, failure, error } of drift) {
      for (const { key, message } of unchecked)
        say(
          `unchecked ${assignment} ${key}`,
          'warn',
          { assignment, key, reason: message },
          'cannot be checked',
        );
      if (error) say(`look ${assignment}`, 'error', { assignment, ...error }, 'live state could not be read');
      if (failure) {
        const what = { assignment, code: failure.code, reason: failure.message };
        say(`failure ${assignment}`, 'error', what, 'still broken');
      }
      for (const { key, what, message, stays = false } of items) {
        const isCorrected = corrected && !stays;
        const fields = { assignment, key, what, corrected: isCorrected, reason: message };
        // Recurring drift is logged each time it was corrected: something keeps changing the object.
        if (isCorrected) log.warn(fields, 'drift');
        else say(`drift ${assignment} ${key}`, 'warn', fields, 'drift');
      }
    }
    for (const key of said.keys()) {
      if (seen.has(key)) continue;
      said.delete(key);
      if (key === 'stale') log.info({}, 'no longer stale');
      if (key.startsWith('look '))
        log.info({ assignment: key.slice('look '.length) }, 'live state can be read again');
    }
    const drifted = drift.filter((it) => it.drift.length > 0).length;
    log.info({ packages: drift.length, drifted }, 'looked');
  };
};
