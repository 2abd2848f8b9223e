import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { verified } from '#bundles/layout/verified';
import type { OpenMedium } from '#bundles/medium/medium';
import { digestOfPath } from '#bundles/medium/open-tar';

/** Digest and size of everything that belongs there. */
export type ExpectedBlobs = Map<Digest, number>;

/**
 * Reads every blob that belongs on the medium, and looks for those that do not: in a tar, which one program wrote, they
 * are an intrusion; in a folder, what a person left there.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB, UNEXPECTED_BLOB, TRUNCATED
 */
export const checkBlobs = async (
  { form, path, files, blobs }: OpenMedium,
  expected: ExpectedBlobs,
  signal?: AbortSignal,
): Promise<{ readonly checked: number; readonly strangers: number }> => {
  for (const [digest, size] of expected) {
    const content = verified(digest, size, await blobs.open(digest, signal), blobs.name);
    while ((await content.next()).done !== true) signal?.throwIfAborted();
  }
  const strangers = (await files('blobs')).filter((file) => {
    const digest = digestOfPath(file);
    return digest === undefined || !expected.has(digest);
  });
  const [first] = strangers;
  if (first !== undefined && form === 'tar') {
    const digest = digestOfPath(first);
    throw new FleetError(
      'UNEXPECTED_BLOB',
      `${path} holds ${digest ? shortDigest(digest) : first}, which nothing signed names`,
      { subject: digest ?? first, hint: 'Do not import it; somebody added to this archive' },
    );
  }
  return { checked: expected.size, strangers: strangers.length };
};
