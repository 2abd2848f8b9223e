import { join } from 'node:path';
import { tryExclusiveLock } from '#bundles/program/exclusive-lock';

/**
 * Held while a registry's blobs are brought in, which takes as long as the network does and leaves the state directory's own
 * lock to whoever stands before the machine. @returns undefined while another has it
 */
export const tryPullLock = (directory: string): Disposable | undefined =>
  tryExclusiveLock(join(directory, 'pull-lock.db'));
