import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/layout/write-file';

/** Small files; returns the bytes written, none where it is there already. @throws FleetError DISK_FULL, PERMISSION, IO */
export const writeChanged = async (root: string, path: string, bytes: Buffer): Promise<number> => {
  const final = join(root, path);
  try {
    if (await isSame(root, path, bytes)) return 0;
    await writeFileAtomically(final, bytes);
    return bytes.byteLength;
  } catch (error) {
    throw toFleetError(error, `writing ${final}`);
  }
};

/** Is it there as it should be? @throws the system's errors */
export const isSame = async (root: string, path: string, bytes: Buffer): Promise<boolean> => {
  const there = await readFile(join(root, path)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  return there?.equals(bytes) ?? false;
};
