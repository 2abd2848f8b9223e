import { MAX_PATCH_BYTES } from '../delta/limits.ts';
import { digestOf, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { readBlob } from '../layout/verified.ts';
import type { Delta, OpenMedium } from './medium.ts';

/**
 * Reads a patch and checks its digest. Its result is not verified.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH; PARTS_MISSING for a set
 */
export const readPatch = async (
  medium: Pick<OpenMedium, 'path' | 'readFile' | 'blobs' | 'parts'>,
  { digest, patch }: Delta,
): Promise<Buffer> => {
  if (medium.parts) return readBlob(medium.blobs, patch.digest, MAX_PATCH_BYTES);
  const bytes = await medium.readFile(patch.path, MAX_PATCH_BYTES);
  if (digestOf(bytes) === patch.digest) return bytes;
  throw new FleetError(
    'DIGEST_MISMATCH',
    `${patch.path} on the medium ${medium.path}, the patch for blob ${shortDigest(digest)}, has other content than the medium says`,
    { subject: digest, hint: 'The copy is damaged or was changed; make it again' },
  );
};
