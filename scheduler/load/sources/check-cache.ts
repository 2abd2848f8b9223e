import { stat } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';

const WRITABLE_BY_ALL = 0o002;

/**
 * Refuses a cache that every user can write to: a build takes the trees in it for those of their commits, and signs what it makes of them.
 * @throws FleetError PERMISSION
 */
export const checkCache = async (directory: string): Promise<void> => {
  const found = await stat(directory).catch(() => undefined);
  if (!found || (found.mode & WRITABLE_BY_ALL) === 0) return;
  throw new FleetError(
    'PERMISSION',
    `the cache ${directory} can be written to by every user of this machine`,
    {
      subject: directory,
      hint: 'What others put there would be built and signed: remove it, or give another --cache',
    },
  );
};
