import { digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Delta, OpenMedium } from '#bundles/medium/medium';

/**
 * Every patch is what the table of contents says of it. What it makes of the base is held against the blob's own digest by
 * whoever applies it.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH
 */
export const checkDeltas = async (
  { readFile }: Pick<OpenMedium, 'readFile'>,
  deltas: readonly Delta[],
  signal?: AbortSignal,
): Promise<number> => {
  for (const { patch } of deltas) {
    signal?.throwIfAborted();
    const { path, size, digest } = patch;
    const bytes = await readFile(path, size);
    if (bytes.byteLength !== size)
      throw new FleetError('SIZE_MISMATCH', `${path} has ${bytes.byteLength} bytes, not ${size}`, {
        hint: AGAIN,
      });
    const found = digestOf(bytes);
    if (found !== digest)
      throw new FleetError('DIGEST_MISMATCH', `${path} has other content: ${shortDigest(found)}`, {
        subject: digest,
        hint: AGAIN,
      });
  }
  return deltas.length;
};

const AGAIN = 'The copy is damaged or was changed; make it again';
