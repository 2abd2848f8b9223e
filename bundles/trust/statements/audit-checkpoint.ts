import type { ReadAuditLine } from '../../formats/statements/audit-lines.ts';
import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { AuditPredicate } from '../../formats/statements/predicates.ts';
import { PREDICATES } from '../../media-types.ts';
import { parseAs } from '../../json/parse-as.ts';
import { AUDIT_PREDICATE } from '../../json/schema/validators.js';
import type { PublicKey } from '../keys/key.ts';
import { verifyStatement } from './verify-statement.ts';

/** The signed state of an audit log. */
export type AuditCheckpoint = AuditPredicate & {
  /** Digest of the newest line. */
  readonly head: Digest;
  /** Digest of the payload. */
  readonly digest: Digest;
};

/**
 * @param keys the audit keys of a root: any one of them signs
 * @throws FleetError UNSIGNED, TOO_MANY, UNKNOWN_KEY, BAD_SIGNATURE, PAYLOAD_MISMATCH, PREDICATE_TYPE, BUNDLE_FORMAT, SCHEMA
 */
export const verifyCheckpoint = (
  envelopes: readonly Uint8Array[],
  keys: readonly PublicKey[],
  what: string,
): AuditCheckpoint => {
  const { predicate, subjects, digest } = verifyStatement(
    envelopes,
    { keys, threshold: 1 },
    PREDICATES.audit,
    what,
  );
  const said = parseAs(AUDIT_PREDICATE, predicate, what);
  const [subject] = subjects;
  if (subjects.length !== 1 || subject?.name !== 'log' || said.to !== said.count || said.from > said.to)
    throw new FleetError('SCHEMA', `${what} does not name one log and the entries that it covers`);
  return { ...said, head: subject.digest, digest };
};

/**
 * Checks that the lines of a log are those that its checkpoint signs.
 * @param lines with their hash chain checked
 * @throws FleetError AUDIT_TRUNCATED, AUDIT_CHECKPOINT
 */
export const checkCovers = (
  { count, head }: Pick<AuditCheckpoint, 'count' | 'head'>,
  lines: readonly ReadAuditLine[],
  what: string,
): void => {
  if (lines.length < count) {
    throw new FleetError(
      'AUDIT_TRUNCATED',
      `${what} ends with entry ${lines.length}, but its checkpoint counts ${count}`,
      { hint: 'Entries were removed; restore the last copy of it' },
    );
  }
  if (lines.length === count && lines.at(-1)?.digest === head) return;
  throw new FleetError(
    'AUDIT_CHECKPOINT',
    lines.length > count
      ? `${what} has ${lines.length} entries, but its checkpoint counts ${count}`
      : `${what} ends with another entry ${count} than its checkpoint signs`,
    { hint: 'Entries were added or replaced without the audit key; restore the last copy of it' },
  );
};
