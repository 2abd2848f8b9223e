import { join } from 'node:path';
import { tryExclusiveLock } from '#cli/exclusive-lock';

/**
 * Acquires the lock for copying blobs from a registry. It is separate from the lock of the state directory, which stays free
 * for operators during a slow download. @returns undefined while another process holds it
 */
export const tryPullLock = (directory: string): Disposable | undefined =>
  tryExclusiveLock(join(directory, 'pull-lock.db'));
