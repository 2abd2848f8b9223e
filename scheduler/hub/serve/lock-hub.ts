import { FleetError, toFleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#cli/exclusive-lock';

/**
 * Allows only one hub per database: two would build and publish concurrently. Other commands do not take this lock. The kernel
 * releases it when the process ends for any reason.
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
