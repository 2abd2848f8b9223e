import { FleetError, toFleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#bundles/program/exclusive-lock';

/**
 * One hub on a database: two would build and publish beside each other, and each would know only the agents that it heard.
 * Other commands do not take this lock. It goes when the process ends, however it ends.
 * @throws FleetError BUSY
 */
export const lockHub = (db: string): Disposable => {
  const lock = takeLock(`${db}.hub-lock`);
  if (lock) return lock;
  throw new FleetError('BUSY', `another hub serves with ${db}`, {
    hint: 'Stop it first, or give another --db',
  });
};

const takeLock = (file: string): Disposable | undefined => {
  try {
    return tryExclusiveLock(file);
  } catch (error) {
    throw toFleetError(error, `locking ${file}`);
  }
};
