import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { readOptional, sizeOf } from '#bundles/formats/medium/plain-files';
import { writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';

/**
 * Writes small files that differ and returns the number of bytes written.
 * @throws FleetError MEDIUM_INVALID if a link or another entry is at the path; DISK_FULL, PERMISSION, IO
 */
export const writeChanged = async (root: string, path: string, bytes: Buffer): Promise<number> => {
  try {
    if (await isSame(root, path, bytes)) return 0;
    await writeFileOntoMedium(root, path, bytes);
    return bytes.byteLength;
  } catch (error) {
    throw toFleetError(error, `writing ${join(root, path)}`);
  }
};

/** True if the file exists with this content. @throws FleetError MEDIUM_INVALID, PERMISSION, IO */
export const isSame = async (root: string, path: string, bytes: Buffer): Promise<boolean> => {
  if ((await sizeOf(root, path)) !== bytes.byteLength) return false;
  const there = await readOptional(root, path, bytes.byteLength);
  return there?.equals(bytes) ?? false;
};
