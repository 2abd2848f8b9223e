import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Delta, OpenMedium } from '#bundles/formats/medium/medium';

/**
 * Every patch is what the table of contents says of it. Its result is checked against the blob's own digest by
 * the program that applies it.
 * @param elsewhere is a patch of a set on a part that is not here? @returns how many were looked at
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH
 */
export const checkDeltas = async (
  { readFile, blobs, parts }: Pick<OpenMedium, 'readFile' | 'blobs' | 'parts'>,
  deltas: readonly Delta[],
  elsewhere: (digest: Digest) => boolean,
  signal?: AbortSignal,
): Promise<number> => {
  const here = deltas.filter(({ patch }) => !elsewhere(patch.digest));
  for (const { patch } of here) {
    signal?.throwIfAborted();
    const { path, size, digest } = patch;
    const bytes = parts ? await readBlob(blobs, digest, size, signal) : await readFile(path, size);
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
  return here.length;
};

const AGAIN = 'The copy is damaged or was changed; make it again';
