import { type Digest, digestOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Delta, OpenMedium } from '#bundles/formats/medium/medium';

/**
 * Checks size and digest of every patch against the table of contents. The program that applies a patch verifies its result.
 * @param elsewhere true for a patch on an absent part of a set @returns the number of checked patches
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
        hint: COPY_AGAIN_HINT,
      });
    const found = digestOf(bytes);
    if (found !== digest)
      throw new FleetError('DIGEST_MISMATCH', `${path} has other content: ${shortDigest(found)}`, {
        subject: digest,
        hint: COPY_AGAIN_HINT,
      });
  }
  return here.length;
};

const COPY_AGAIN_HINT = 'The copy is damaged or was changed; make it again';
