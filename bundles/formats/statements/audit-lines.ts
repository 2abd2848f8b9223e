import { canonicalBytes } from '../../json/canonical.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { enumValuesOf } from '../../json/schema/enum-values.ts';
import { parseAs } from '../../json/parse-as.ts';
import { AUDIT_ENTRY } from '../../json/schema/validators.js';
import { type Digest, digestOf } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import type { AuditEntry as AuditLine } from '../../schemas/types/audit-entry.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Document } from '../layout/document.ts';
import { readBlob } from '../layout/verified.ts';
import { MAX_STATEMENT_BYTES } from './envelope.ts';

export type AuditKind = AuditLine['kind'];
export const AUDIT_KINDS = enumValuesOf(AUDIT_ENTRY, 'kind');

/** One line of the audit log (docs/bundle-format.md section 18), its statement not verified. */
export type { AuditEntry as AuditLine } from '../../schemas/types/audit-entry.ts';

export type ReadAuditLine = AuditLine & {
  /** Digest of the line's bytes, without the line feed. */
  readonly digest: Digest;
};

/** Entries of a full segment. */
export const SEGMENT_ENTRIES = 256;
/** A statement within its limit, and the fields around it. */
const MAX_LINE_BYTES = MAX_STATEMENT_BYTES + 1024;
const MAX_SEGMENT_BYTES = SEGMENT_ENTRIES * (MAX_LINE_BYTES + 1);

/** Bytes of a line: canonical JSON, without the line feed. */
export const encodeAuditLine = (line: AuditLine): Buffer => canonicalBytes(line);

/**
 * Reads the segments of an audit log in the order of the artifact and checks the hash chain over all lines. Neither statements
 * nor the checkpoint are verified.
 * @param documents of the artifact; those of role `audit-segment` are read
 * @param after number of the entry before the first of these segments, whose digest is not checked
 * @throws FleetError AUDIT_CHAIN; MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, TOO_LARGE for a segment; BAD_JSON, SCHEMA,
 *   UNSUPPORTED for a line
 */
export const readAuditLines = async (
  blobs: BlobSource,
  documents: readonly Document[],
  after = 0,
): Promise<readonly ReadAuditLine[]> => {
  const lines: ReadAuditLine[] = [];
  for (const { digest, role } of documents) {
    if (role !== 'audit-segment') continue;
    const bytes = await readSegment(blobs, digest);
    for (const line of splitLines(bytes)) lines.push(readLine(line, lines.at(-1) ?? after));
  }
  return lines;
};

const readSegment = async (blobs: BlobSource, digest: Digest): Promise<Buffer> => {
  try {
    return await readBlob(blobs, digest, MAX_SEGMENT_BYTES);
  } catch (error) {
    if (!isFleetError(error, 'MISSING_BLOB')) throw error;
    throw new FleetError('MISSING_BLOB', `a segment of the audit log is not in ${blobs.name}`, {
      subject: digest,
      cause: error,
      hint: 'Restore the last copy of this layout, or of the blob',
    });
  }
};

/** @throws FleetError AUDIT_CHAIN for a segment that does not end with a line feed: it was cut in the middle of a line */
const splitLines = (bytes: Buffer): readonly Buffer[] => {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(0x0a); end !== -1; end = bytes.indexOf(0x0a, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  if (start < bytes.length || lines.length === 0)
    throw brokenChain('a segment of the audit log ends in the middle of a line');
  return lines;
};

const readLine = (bytes: Buffer, before: ReadAuditLine | number): ReadAuditLine => {
  const expected = (typeof before === 'number' ? before : before.number) + 1;
  const what = `entry ${expected} of the audit log`;
  const json = parseStrictJson(bytes, { maxBytes: MAX_LINE_BYTES, maxDepth: 32 }, what);
  checkKnown(AUDIT_KINDS, (json as { readonly kind?: unknown } | null)?.kind, what);
  const line = parseAs(AUDIT_ENTRY, json, what);
  if (!isCanonical(line, bytes)) throw brokenChain(`${what} is not canonical JSON`);
  if (line.number !== expected)
    throw brokenChain(`the audit log has entry ${line.number} where entry ${expected} is due`);
  const previous = typeof before === 'number' ? null : before.digest;
  if (line.previous !== previous && (previous !== null || expected === 1))
    throw brokenChain(
      `${what} names ${line.previous ?? 'nothing'} as the entry before, not ${previous ?? 'nothing'}`,
    );
  return { ...line, digest: digestOf(bytes) };
};

/**
 * Refuses an entry of a kind that only a newer version knows: none of what follows from the log can be judged without it.
 * @throws FleetError UNSUPPORTED; other values than text are left to the schema
 */
export const checkKnown = (known: readonly string[], kind: unknown, what: string): void => {
  if (typeof kind !== 'string' || known.includes(kind)) return;
  throw new FleetError(
    'UNSUPPORTED',
    `${what} is of the kind ${JSON.stringify(kind).slice(0, 80)}, which this version does not know: a newer version wrote it`,
    { hint: 'Upgrade this program to the version that writes the log' },
  );
};

const isCanonical = (line: AuditLine, bytes: Buffer): boolean => {
  try {
    return encodeAuditLine(line).equals(bytes);
  } catch (error) {
    // A fraction has no canonical form.
    if (error instanceof TypeError) return false;
    throw error;
  }
};

const brokenChain = (message: string): FleetError =>
  new FleetError('AUDIT_CHAIN', message, { hint: 'The log was changed; restore the last copy of it' });
