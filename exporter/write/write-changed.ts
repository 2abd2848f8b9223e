import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import { hasContent } from '../plan/medium/has-content.ts';

/**
 * Writes small files that differ and returns the number of bytes written.
 * @throws FleetError MEDIUM_INVALID if a link or another entry is at the path; DISK_FULL, PERMISSION, IO
 */
export const writeChanged = async (root: string, path: string, bytes: Buffer): Promise<number> => {
  try {
    if (await hasContent(root, path, bytes)) return 0;
    await writeFileOntoMedium(root, path, bytes);
    return bytes.byteLength;
  } catch (error) {
    throw toFleetError(error, `writing ${join(root, path)}`);
  }
};
