import { createReadStream, type ReadStream } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';

export const hasBackup = (backups: string, digest: Digest): Promise<boolean> =>
  access(join(backups, hexOf(digest))).then(
    () => true,
    () => false,
  );

/** Opens the copy of the file that was at `path` before the package. @throws FleetError APPLY_FAILED if the copy is missing */
export const openBackup = async (backups: string, digest: Digest, path: string): Promise<ReadStream> => {
  if (await hasBackup(backups, digest)) return createReadStream(join(backups, hexOf(digest)));
  throw new FleetError(
    'APPLY_FAILED',
    `what was at ${path} before cannot be restored: its copy ${hexOf(digest)} is missing from ${backups}`,
    { hint: 'Bring the copy back, or remove the file by hand' },
  );
};
