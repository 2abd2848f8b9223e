import { createHash } from 'node:crypto';
import { openFileAccess } from '#bundles/formats/archive/open-file-access';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { releaseBuffer } from '#bundles/formats/layout/chunk-buffers';
import { readSpan } from '#bundles/formats/layout/read-span';

/**
 * SHA-256 of a whole file.
 * @param openFile opens the file; by its path unless given
 * @throws FleetError MEDIUM_INVALID, PERMISSION, IO, ABORTED
 */
export const digestOfFile = async (
  path: string,
  signal?: AbortSignal,
  openFile: () => Promise<RandomAccess> = () => openFileAccess(path),
): Promise<Digest> => {
  const hash = createHash('sha256');
  try {
    await using file = await openFile();
    for await (const chunk of readSpan(file, { offset: 0, size: file.size }, path, { signal })) {
      hash.update(chunk);
      releaseBuffer(chunk);
    }
  } catch (error) {
    throw toFleetError(error, `reading ${path}`);
  }
  return `sha256:${hash.digest('hex')}`;
};
