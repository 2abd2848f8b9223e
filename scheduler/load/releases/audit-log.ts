import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readArtifact } from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, type Layout } from '#bundles/formats/layout/layout';
import {
  type AuditKind,
  type AuditLine,
  checkKnown,
  type ReadAuditLine,
  readAuditLines,
} from '#bundles/formats/statements/audit-lines';
import {
  type ApprovalPredicate,
  type ChangePredicate,
  type DecisionPredicate,
  type PromotionPredicate,
} from '#bundles/formats/statements/predicates';
import { statementFiles } from '#bundles/formats/statements/statement-files';
import { canonicalBytes } from '#bundles/json/canonical';
import { enumValuesOf } from '#bundles/json/schema/enum-values';
import { DECISION_PREDICATE } from '#bundles/json/schema/validators';
import { parseDocument } from '#bundles/json/validate';
import { AUDIT_ARTIFACT, PREDICATES } from '#bundles/media-types';
import type { Timestamp } from '#bundles/time';
import { AUDIT_REPOSITORY } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { underNewest } from '#bundles/trust/root/verify-under';
import { checkCovers, verifyCheckpoint } from '#bundles/trust/statements/audit-checkpoint';
import { type RoleKeys, verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { Promoted } from '../../model/promotion.ts';
import { readOnce } from './read-once.ts';
import { AUDIT_REFERENCE } from './references.ts';

type EntryOf<Kind extends AuditKind, Predicate> = {
  readonly kind: Kind;
  /** From 1, without gaps. */
  readonly number: number;
  /** Digest of the line: what a release carries as `auditHead` if this entry is the newest. */
  readonly digest: Digest;
  /** When it was appended. */
  readonly at: Timestamp;
  /** Digest of the statement's payload: how other statements name it. */
  readonly payload: Digest;
  /** Subject `candidate`; undefined for a decision about an environment, and for a change. */
  readonly candidate: Digest | undefined;
  readonly predicate: Predicate;
  /** Hint of the key that signed, as the root writes it. */
  readonly signer: string;
};

/** A verified entry of the audit log. */
export type AuditEntry =
  | EntryOf<'promotion', PromotionPredicate>
  | EntryOf<'approval', ApprovalPredicate>
  | EntryOf<'decision', DecisionPredicate>
  | EntryOf<'change', ChangePredicate>;

/** Some fields of an entry, with what its kind says about them. */
export type PartOf<Entry, Field extends keyof Entry> = Entry extends unknown ? Pick<Entry, Field> : never;

/** The verified audit log of a layout. */
export type AuditLog = {
  /** Oldest first. */
  readonly entries: readonly AuditEntry[];
  /** Digest of the newest line; null without a log. */
  readonly head: Digest | null;
};

/** For messages. */
const LOG = 'the audit log';

export const EMPTY_LOG: AuditLog = { entries: [], head: null };

/**
 * Reads the audit log of a layout and verifies it: the hash chain, the checkpoint over its head, and each statement under the
 * newest root whose keys signed it.
 * @param roots all roots of the fleet, oldest first
 * @returns an empty log if the layout has none
 * @throws FleetError AUDIT_CHAIN, AUDIT_CHECKPOINT, AUDIT_TRUNCATED; MISSING_BLOB, DIGEST_MISMATCH for a segment; UNKNOWN_KEY,
 *   BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE, WRONG_FLEET, SCHEMA, UNSUPPORTED for a statement; UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE for the
 *   checkpoint
 */
export const readAuditLog = (layout: Layout, roots: readonly TrustRoot[]): Promise<AuditLog> =>
  readOnce({ layout, roots, repository: AUDIT_REPOSITORY, what: 'entries' }, async () => {
    const lines = await readCheckedLines(layout, roots);
    return { entries: verifyEntries(lines, roots), head: lines.at(-1)?.digest ?? null };
  });

/** @throws FleetError as verifyEntry; AUDIT_CHAIN for a promotion whose number was taken before */
export const verifyEntries = (
  lines: readonly ReadAuditLine[],
  roots: readonly TrustRoot[],
): readonly AuditEntry[] => {
  const entries: AuditEntry[] = [];
  for (const line of lines) {
    const entry = verifyEntry(line, roots);
    checkNumbering(entries, entry, 'AUDIT_CHAIN');
    entries.push(entry);
  }
  return entries;
};

/**
 * The lines of a layout's audit log: the chain is checked and ends at the head that the checkpoint signs; statements are not
 * verified. Enough to find a head of a release.
 * @throws FleetError as readAuditLog, without the errors of statements
 */
export const readCheckedLines = (
  layout: Layout,
  roots: readonly TrustRoot[],
): Promise<readonly ReadAuditLine[]> =>
  readOnce({ layout, roots, repository: AUDIT_REPOSITORY, what: 'lines' }, async () => {
    const signed = await readSignedHead(layout, roots);
    if (!signed) return [];
    const lines = await readAuditLines(layout.blobs, signed.documents);
    checkCovers(signed, lines, nameOf(layout));
    return lines;
  });

/** Newest entry and number of entries of a log, as its checkpoint signs them. */
export type SignedHead = {
  readonly head: Digest;
  readonly count: number;
  /** Of the log's artifact. */
  readonly documents: readonly Document[];
};

/**
 * The newest entry of a layout's audit log as its checkpoint signs it; no entry is read. @returns undefined without a log
 * @throws FleetError UNSIGNED, UNKNOWN_KEY, BAD_SIGNATURE, AUDIT_CHECKPOINT; MISSING_BLOB, DIGEST_MISMATCH
 */
export const readSignedHead = async (
  layout: Layout,
  roots: readonly TrustRoot[],
): Promise<SignedHead | undefined> => {
  const artifact = findReference(layout, AUDIT_REFERENCE);
  if (!artifact) return undefined;
  const what = nameOf(layout);
  const documents = await readArtifact(layout.blobs, artifact, { what, type: AUDIT_ARTIFACT });
  const envelopes = await statementFiles(layout.blobs, documents, 'audit');
  const { head, count } = underNewest(roots, LOG, ({ audit }) =>
    verifyCheckpoint(envelopes, audit, `the checkpoint of ${what}`),
  );
  return { head, count, documents };
};

const nameOf = ({ directory }: Layout): string => `the audit log in ${directory}`;

/**
 * Verifies the statement of a line.
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE, BUNDLE_FORMAT, WRONG_FLEET, SCHEMA, UNSUPPORTED
 */
export const verifyEntry = (line: ReadAuditLine, roots: readonly TrustRoot[]): AuditEntry => {
  const { number, digest, at, kind } = line;
  const what = `the ${kind} in entry ${number} of the audit log`;
  const file = encodeEntryStatement(line, what);
  const statement = underNewest(roots, LOG, (root) =>
    verifyStatement([file], signersOf(kind, root), PREDICATES[kind], what),
  );
  const candidate = statement.subjects.find(({ name }) => name === 'candidate')?.digest;
  if (candidate === undefined && kind !== 'decision' && kind !== 'change')
    throw new FleetError('SCHEMA', `${what} names no candidate`);
  const common = { number, digest, at, payload: statement.digest, candidate };
  const [signer = ''] = statement.signers;
  const entry = { ...common, signer, ...parsePredicate(kind, statement.predicate, what) };
  const fleet = roots.at(-1)?.fleet;
  if (entry.predicate.fleet === fleet) return entry;
  throw new FleetError('WRONG_FLEET', `${what} is of fleet ${entry.predicate.fleet}, not ${fleet}`);
};

/** Digest of the payload of a line's statement, which is not verified; undefined: it has none. */
export const payloadOf = ({ statement }: AuditLine): Digest | undefined => {
  const { dsseEnvelope } = statement as { readonly dsseEnvelope?: { readonly payload?: unknown } };
  const payload = dsseEnvelope?.payload;
  return typeof payload === 'string' ? digestOf(Buffer.from(payload, 'base64')) : undefined;
};

/** Bytes of the statement's file. @throws FleetError BUNDLE_FORMAT for a number that canonical JSON does not have */
const encodeEntryStatement = ({ statement }: AuditLine, what: string): Buffer => {
  try {
    return canonicalBytes(statement);
  } catch (cause) {
    throw new FleetError('BUNDLE_FORMAT', `${what} has a number with a fraction`, { cause });
  }
};

/** Keys that may sign a kind. An approval has one signature, regardless of the threshold for bundles. */
const signersOf = (kind: AuditKind, { roles, audit }: TrustRoot): RoleKeys => {
  switch (kind) {
    case 'promotion':
      return roles.release;
    case 'approval':
      return { keys: roles.bundle.keys, threshold: 1 };
    case 'decision':
    case 'change':
      return { keys: audit, threshold: 1 };
  }
};

const parsePredicate = (kind: AuditKind, predicate: unknown, what: string) => {
  switch (kind) {
    case 'promotion':
      return { kind, predicate: parseDocument('promotion-predicate', predicate, what) };
    case 'approval':
      return { kind, predicate: parseDocument('approval-predicate', predicate, what) };
    case 'decision':
      checkKnown(
        enumValuesOf(DECISION_PREDICATE, 'decision'),
        (predicate as { readonly decision?: unknown } | null)?.decision,
        what,
      );
      return { kind, predicate: parseDocument('decision-predicate', predicate, what) };
    case 'change':
      return { kind, predicate: parseDocument('change-predicate', predicate, what) };
  }
};

/** Checks that a promotion has a higher number than those to the same environment before it. @throws FleetError with this code */
export const checkNumbering = (
  before: readonly AuditEntry[],
  entry: AuditEntry,
  code: 'AUDIT_CHAIN' | 'NOT_NEWER',
): void => {
  if (entry.kind !== 'promotion') return;
  const { to, number } = entry.predicate;
  const last = promotedTo({ entries: before }, to);
  if (number > (last?.number ?? 0)) return;
  throw new FleetError(
    code,
    `promotion ${number} to ${to} in entry ${entry.number} of the audit log does not follow promotion ${last?.number}`,
  );
};

/** The newest promotion to an environment; undefined if there is none. */
export const promotedTo = (
  { entries }: Pick<AuditLog, 'entries'>,
  environment: string,
): (Promoted & { readonly predicate: PromotionPredicate; readonly payload: Digest }) | undefined => {
  const found = entries.findLast((entry) => entry.kind === 'promotion' && entry.predicate.to === environment);
  if (found?.kind !== 'promotion' || found.candidate === undefined) return undefined;
  const { predicate, candidate, payload } = found;
  const { from, to, number, shared } = predicate;
  return { from, to, number, candidate, shared, predicate, payload };
};

/** The rejection of a candidate for an environment: person, time and reason; undefined without one. A rejection is final. */
export const rejectionOf = (
  entries: readonly PartOf<AuditEntry, 'kind' | 'predicate'>[],
  environment: string,
  shared: Digest,
): string | undefined => {
  for (const { kind, predicate } of entries.toReversed()) {
    if (kind !== 'decision' || predicate.decision !== 'reject') continue;
    const { only, stage, person, time, reason } = predicate;
    if (predicate.environment !== environment || predicate.shared !== shared) continue;
    if (only !== undefined || stage !== undefined) continue;
    return `rejected by ${person ?? 'a rule'} at ${time}: ${reason}`;
  }
  return undefined;
};
