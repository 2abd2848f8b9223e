import { type Digest, shortDigest } from '#bundles/digest';
import { type ErrorCode, FleetError, formatError, isFleetError } from '#bundles/errors';
import { verifyAll } from '#bundles/formats/layout/verified';
import type { MediumParts, OpenMedium } from '#bundles/formats/medium/medium';
import { digestOfPath } from '#bundles/formats/medium/blob-path';
import { nameSome } from '#bundles/name-some';
import { formatTime, type Timestamp } from '#bundles/time';

/** Digest and size of all expected blobs. */
export type ExpectedBlobs = Map<Digest, number>;

/** The result of reading one blob. */
export type BlobCheck = {
  readonly digest: Digest;
  readonly size: number;
  readonly at: Timestamp;
  readonly code?: ErrorCode;
  readonly message?: string;
};

export type BlobsChecked = {
  readonly checked: number;
  /** Files under blobs/ of a folder that nothing on the medium names. */
  readonly unexpected: number;
};

type Checking = {
  readonly clock: () => Date;
  readonly onBlob: (blob: BlobCheck) => void;
  /** True if an earlier refusal leaves the expected blobs incomplete: then no blob is reported as foreign. */
  readonly incomplete?: boolean;
};

/**
 * Reads every expected blob of the medium and finds unexpected ones. In a tar, which one program wrote, they are an error; in a folder a
 * person may have left them. Reads all blobs even after a bad one, then throws the first error with the parts to send again.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, MISSING_BLOB, UNEXPECTED_BLOB, TRUNCATED
 */
export const checkBlobs = async (
  open: Pick<OpenMedium, 'form' | 'path' | 'files' | 'blobs' | 'parts'>,
  expected: ExpectedBlobs,
  { clock, onBlob, incomplete = false }: Checking,
  signal?: AbortSignal,
): Promise<BlobsChecked> => {
  const { form, path, files, blobs, parts } = open;
  const bad: FleetError[] = [];
  for (const [digest, size] of expected) {
    try {
      await verifyAll({ digest, size }, await blobs.open(digest, signal), blobs.name, signal);
      onBlob({ digest, size, at: formatTime(clock()) });
    } catch (error) {
      // After an IO error or an abort, further blobs cannot be read either.
      if (!isFleetError(error) || error.exitCode === 1 || error.exitCode === 6) throw error;
      bad.push(inPart(error, parts, digest));
      onBlob({ digest, size, at: formatTime(clock()), code: error.code, message: formatError(error) });
    }
  }
  if (bad[0]) throw allOf(bad[0], bad.length);
  const unexpected = form === 'parts' || incomplete ? [] : await unexpectedFiles(files, expected);
  const [first] = unexpected;
  if (first !== undefined && form === 'tar') {
    const digest = digestOfPath(first);
    throw new FleetError(
      'UNEXPECTED_BLOB',
      `${path} holds ${digest ? `blob ${shortDigest(digest)}` : first}, which no signed document names`,
      { subject: digest ?? first, hint: 'Do not import it; somebody added to this archive' },
    );
  }
  return { checked: expected.size, unexpected: unexpected.length };
};

const unexpectedFiles = async (
  files: OpenMedium['files'],
  expected: ExpectedBlobs,
): Promise<readonly string[]> =>
  (await files('blobs')).filter((file) => {
    const digest = digestOfPath(file);
    return digest === undefined || !expected.has(digest);
  });

/** Names the part files to send again. */
const inPart = (error: FleetError, parts: MediumParts | undefined, digest: Digest): FleetError => {
  if (!parts) return error;
  const numbers = parts.partOf(digest);
  const named = parts.here
    .filter(({ number }) => numbers.includes(number))
    .map(({ number, path }) => `part ${number} (${path})`);
  // The error of an unreadable part already names it.
  if (named.length === 0 || error.message.includes('part ')) return error;
  const { code, message, subject } = error;
  return new FleetError(code, `${message}; it is in ${nameSome(named)}`, {
    subject,
    hint: 'Send this part again; the others are usable',
    cause: error,
  });
};

const allOf = (first: FleetError, count: number): FleetError => {
  if (count === 1) return first;
  const { code, message, subject, hint } = first;
  return new FleetError(code, `${message}, and ${count - 1} more blobs are bad`, {
    subject,
    hint,
    cause: first,
  });
};
