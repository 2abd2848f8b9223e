import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import {
  type AuditKind,
  type AuditLine,
  encodeAuditLine,
  type ReadAuditLine,
  readAuditLines,
  SEGMENT_ENTRIES,
} from '#bundles/formats/statements/audit-lines';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import type { Document } from '#bundles/formats/layout/document';
import type { Layout } from '#bundles/formats/layout/layout';
import type { AuditPredicate } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { parseStrictJson } from '#bundles/json/strict-json';
import { AUDIT_ARTIFACT, AUDIT_NDJSON, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { parseChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { type Limit, createLimit } from '#bundles/transport/publish/limit';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { statementPayload } from '#bundles/trust/statements/statement-payload';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { writeBlobs } from '#bundles/formats/layout/write-blobs';
import { type NewDocument, prepareArtifact } from '../../load/releases/artifact.ts';
import { checkHead } from '../../load/releases/audit-head.ts';
import {
  type AuditEntry,
  checkNumbering,
  payloadOf,
  readCheckedLines,
  readSignedHead,
  type SignedHead,
  verifyEntries,
  verifyEntry,
} from '../../load/releases/audit-log.ts';
import { readRelease } from '../../load/releases/read-release.ts';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';
import type { Releases } from '../write/open-releases.ts';
import { rootDocuments } from '../write/write-release.ts';

export type NewEntry = {
  readonly kind: AuditKind;
  /** The signed statement: bytes of a sigstore bundle. */
  readonly statement: Uint8Array;
};

export type Appended = {
  /** 'known': the log has this statement already, and nothing was written. */
  readonly outcome: 'appended' | 'known';
  readonly entry: AuditEntry;
};

/**
 * Appends a signed statement to the audit log of a layout and signs the checkpoint over the new head. The entry is on disk when
 * this returns. Blobs are written before the index, so that a process killed in between leaves the log as it was. Appending a
 * statement that the log has changes nothing: a caller that was stopped can repeat the call.
 * @param releases holds the layout's lock; calls on the same one wait for each other
 * @throws FleetError KEY_MISSING, UNKNOWN_KEY for the audit key; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE,
 *   BUNDLE_FORMAT, WRONG_FLEET, SCHEMA for the statement, judged by the newest root; NOT_NEWER for a promotion whose number is
 *   taken; BUSY; the codes of readAuditLog for the log as it is
 */
export const appendEntry = async (
  releases: Releases,
  keys: KeyDirectory,
  entry: NewEntry,
  now: Date,
): Promise<Appended> => {
  const [appended] = await appendEntries(releases, keys, [entry], { now });
  return appended as Appended;
};

export type AppendOptions = {
  readonly now: Date;
  /**
   * Newest entry of a log that has none of the statements. While the log's checkpoint signs it, only the segments that grow are read: the others
   * were checked when that entry was read, and every reader of the log checks them again. undefined: the log may have some of them.
   */
  readonly known?: Digest | undefined;
};

/** Appends several statements under one checkpoint, as appendEntry. @returns the results in the same order */
export const appendEntries = (
  releases: Releases,
  keys: KeyDirectory,
  entries: readonly NewEntry[],
  options: AppendOptions,
): Promise<readonly Appended[]> => inTurn(releases)(() => append(releases, keys, entries, options));

/** One queue for each opened layout: its lock keeps out other processes, not other calls of this one. */
const queues = new WeakMap<Releases, Limit>();

const inTurn = (releases: Releases): Limit => {
  const queue = queues.get(releases) ?? createLimit(1);
  queues.set(releases, queue);
  return queue;
};

const append = async (
  releases: Releases,
  keys: KeyDirectory,
  added: readonly NewEntry[],
  { now, known }: AppendOptions,
): Promise<readonly Appended[]> => {
  // Opened before anything is read, so that a missing key is the first error.
  const key = await keys.key('audit');
  const layout = await releases.open();
  const log = await openLog(layout, keys.roots, known);
  if (log.count === 0) await checkNoneNamed(layout, keys.roots);
  // Only the number of a promotion depends on the entries before it.
  const hasPromotion = added.some(({ kind }) => kind === 'promotion');
  const entries = hasPromotion ? [...verifyEntries(log.lines, keys.roots)] : [];
  const lines = [...log.lines];
  let { head, count } = log;
  const results: Appended[] = [];
  for (const { kind, statement } of added) {
    const line: AuditLine = {
      number: count + 1,
      previous: head,
      at: formatTime(now),
      kind,
      statement: toJson(statement, kind),
    };
    const read = { ...line, digest: digestOf(encodeAuditLine(line)) };
    const entry = verifyEntry(read, [keys.root]);
    const same = log.payloads.get(entry.payload);
    results.push(
      same ? { outcome: 'known', entry: verifyEntry(same, keys.roots) } : { outcome: 'appended', entry },
    );
    if (same) continue;
    checkNumbering(entries, entry, 'NOT_NEWER');
    lines.push(read);
    entries.push(entry);
    log.payloads.set(entry.payload, read);
    [head, count] = [read.digest, read.number];
  }
  if (head === null || count === log.count) return results;
  const checkpoint = await signCheckpoint(head, count, key, now);
  const { blobs, descriptor } = prepareArtifact(AUDIT_ARTIFACT, [
    { role: 'audit', mediaType: SIGSTORE_BUNDLE, version: count, bytes: checkpoint },
    ...log.full,
    ...segmentsOf(lines.map(({ digest: _, ...line }) => line)),
    ...rootDocuments(keys),
  ]);
  await writeBlobs(layout.blobs, blobs);
  await releases.point(new Map([[AUDIT_REFERENCE, descriptor]]));
  return results;
};

/** A log that is appended to. */
type OpenLog = {
  readonly head: Digest | null;
  readonly count: number;
  /** Segments that stay as they are. */
  readonly full: readonly Document[];
  /** Entries of the other segments. */
  readonly lines: readonly ReadAuditLine[];
  /** Entries by the payload of their statement: all that may be appended again. */
  readonly payloads: Map<Digest, ReadAuditLine>;
};

/** Reads the whole log, or the segments that grow if its newest entry is the known one. @throws FleetError as readCheckedLines */
const openLog = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  known: Digest | undefined,
): Promise<OpenLog> => {
  const signed = known !== undefined ? await readSignedHead(layout, roots) : undefined;
  const split = signed && signed.head === known ? splitSegments(signed) : undefined;
  if (signed && split) {
    const { head, count } = signed;
    const after = split.full.length * SEGMENT_ENTRIES;
    const lines = await readAuditLines(layout.blobs, split.open, after);
    if (after + lines.length === count && (lines.at(-1)?.digest ?? head) === head)
      return { head, count, full: split.full, lines, payloads: new Map() };
  }
  const lines = await readCheckedLines(layout, roots);
  const payloads = new Map<Digest, ReadAuditLine>();
  for (const line of lines) {
    const payload = payloadOf(line);
    if (payload !== undefined) payloads.set(payload, line);
  }
  return { head: lines.at(-1)?.digest ?? null, count: lines.length, full: [], lines, payloads };
};

/** @returns undefined for segments that are not laid out as segmentsOf does */
const splitSegments = ({
  documents,
  count,
}: SignedHead): { readonly full: readonly Document[]; readonly open: readonly Document[] } | undefined => {
  const segments = documents.filter(({ role }) => role === 'audit-segment');
  const complete = Math.floor(count / SEGMENT_ENTRIES);
  const [full, open] = [segments.slice(0, complete), segments.slice(complete)];
  const isRegular = full.every(({ version }, at) => version === at * SEGMENT_ENTRIES + 1);
  return isRegular && full.length === complete ? { full, open } : undefined;
};

/** A log that releases name and that is gone is not begun anew. @throws FleetError AUDIT_TRUNCATED */
const checkNoneNamed = async (layout: Layout, roots: readonly TrustRoot[]): Promise<void> => {
  for (const name of channelsIn(layout)) {
    const release = await readRelease(layout, parseChannel(name), roots).catch((error: unknown) => {
      // A release that cannot be read says nothing about the log.
      if (!isFleetError(error)) throw error;
    });
    if (release) checkHead([], release, layout);
  }
};

/** @throws FleetError BUNDLE_FORMAT, PAYLOAD_TYPE, BAD_JSON, TOO_LARGE, TOO_DEEP */
const toJson = (statement: Uint8Array, kind: AuditKind): AuditLine['statement'] => {
  const what = `the ${kind}`;
  parseEnvelope(statement, what);
  return parseStrictJson(statement, { maxBytes: MAX_STATEMENT_BYTES }, what) as { [key: string]: Json };
};

/**
 * The log as segments. The sizes depend only on the number of entries: full ones, then one for each bit of the rest, so that an
 * append writes a small new segment and each entry is rewritten at most eight times.
 */
const segmentsOf = (lines: readonly AuditLine[]): readonly NewDocument[] => {
  const after = (lines[0]?.number ?? 1) - 1;
  const segments: NewDocument[] = [];
  for (let start = 0; start < lines.length; ) {
    const size = segmentSize(lines.length - start);
    const bytes = lines.slice(start, start + size).map((line) => `${encodeAuditLine(line).toString()}\n`);
    segments.push({
      role: 'audit-segment',
      mediaType: AUDIT_NDJSON,
      version: after + start + 1,
      bytes: Buffer.from(bytes.join('')),
    });
    start += size;
  }
  return segments;
};

/** The largest power of two that is neither above what is left nor above a full segment. */
const segmentSize = (left: number): number => Math.min(SEGMENT_ENTRIES, 2 ** Math.floor(Math.log2(left)));

/**
 * Signs the state of the audit log after one more entry (docs/bundle-format.md section 18).
 * @param head digest of the newest line
 * @param count entries of the log, the newest one included
 * @returns the bytes of a sigstore bundle
 */
export const signCheckpoint = (head: Digest, count: number, key: SigningKey, now: Date): Promise<Buffer> => {
  const predicate: AuditPredicate = { from: count, to: count, count, time: formatTime(now) };
  return signPayload(statementPayload([{ name: 'log', digest: head }], 'audit', predicate), key);
};
