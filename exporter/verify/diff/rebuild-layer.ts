import { applyPatch } from '#bundles/formats/delta/apply-patch';
import { contentOf } from '#bundles/formats/delta/gzip-layer';
import { MAX_STEPS } from '#bundles/formats/delta/limits';
import { shortDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob, verified } from '#bundles/formats/layout/verified';
import type { SidePatch } from './side.ts';

/**
 * Rebuilds a layer that is carried as a patch from the old layer of either side.
 * @returns the layer, or the reason why it cannot be rebuilt
 * @throws FleetError for a patch or an old layer that cannot be read
 */
export const rebuildLayer = async (
  { delta, read }: SidePatch,
  blobs: BlobSource,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Buffer | string> => {
  const { digest, size, base, form } = delta;
  if (size > maxBytes) return 'its layer is too large';
  if ((await blobs.size(base)) === undefined)
    return `its layer comes as a patch of ${shortDigest(base)}, which is on neither side`;
  const patch = await read();
  const old = await readBlob(blobs, base, maxBytes, signal);
  const content = form === 'gzip' ? contentOf(old) : old;
  if (!content) return BAD_PATCH;
  const file = {
    size: content.length,
    read: (offset: number, length: number) => content.subarray(offset, offset + length),
  };
  try {
    const made = verified(digest, size, applyPatch([patch], file, MAX_STEPS, size), 'the patch');
    return Buffer.concat(await Array.fromAsync(made));
  } catch (error) {
    if (WRONG_PATCH_CODES.some((code) => isFleetError(error, code))) return BAD_PATCH;
    throw error;
  }
};

const WRONG_PATCH_CODES = ['DELTA_INVALID', 'DIGEST_MISMATCH', 'SIZE_MISMATCH'] as const;
const BAD_PATCH = 'the patch does not yield its layer';
