import { isRecord } from '../../is-record.ts';
import { canonicalBytes, type Json } from '../../json/canonical.ts';
import { compareBytes, type Digest, digestFromHex, digestOf, hexOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { IN_TOTO_STATEMENT } from '../../media-types.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { type PublicKey, verifySignature } from '../keys/key.ts';
import {
  type Envelope,
  MAX_STATEMENT_BYTES,
  parseEnvelope,
  preAuthEncoding,
} from '../../formats/statements/envelope.ts';

/** Keys that may sign, and how many of them must. The public keys are distinct, which readRoot checks. */
export type RoleKeys = { readonly keys: readonly PublicKey[]; readonly threshold: number };

export type Subject = { readonly name: string; readonly digest: Digest };

export type VerifiedStatement = {
  /** The exact signed bytes, the same in all envelopes. */
  readonly payload: Buffer;
  /** SHA-256 of the payload: how other documents name this statement. */
  readonly digest: Digest;
  readonly subjects: readonly Subject[];
  /** Authentic, but not yet checked against any schema. */
  readonly predicate: unknown;
  /** Hints of the distinct keys that signed, sorted bytewise. */
  readonly signers: readonly string[];
};

/** Upper bound on signature files of one statement. */
export const MAX_SIGNATURES = 16;

/**
 * Verifies one statement signed by M of N: every envelope given must be a valid signature of the role over the same bytes, and
 * enough distinct keys must have signed. Nothing of the payload is parsed before that.
 * @param what name of the statement for messages: 'release statement'
 * @throws FleetError UNSIGNED, TOO_MANY, UNKNOWN_KEY, BAD_SIGNATURE, PAYLOAD_MISMATCH, THRESHOLD, PREDICATE_TYPE, PAYLOAD_TYPE,
 *   BUNDLE_FORMAT, TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA
 */
export const verifyStatement = (
  envelopes: readonly Uint8Array[],
  role: RoleKeys,
  predicateType: string,
  what: string,
): VerifiedStatement => {
  checkCount(envelopes.length, what);
  const verified = envelopes.map((bytes) => verifyEnvelope(bytes, role.keys, what));
  const payload = onePayload(verified, what);
  const signers = checkThreshold(verified, role.threshold, what);
  const statement = parseStatement(payload, what);
  if (statement.predicateType !== predicateType) {
    throw new FleetError(
      'PREDICATE_TYPE',
      `${what} is ${JSON.stringify(statement.predicateType.slice(0, 80))}, not ${predicateType}`,
    );
  }
  return {
    payload,
    digest: digestOf(payload),
    subjects: statement.subjects,
    predicate: statement.predicate,
    signers,
  };
};

/**
 * Verifies one envelope against the key that its hint names. For readers that skip invalid envelopes instead of refusing all of
 * them: any client with push access can add registry referrers.
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, TOO_LARGE, BAD_JSON, TOO_DEEP, BUNDLE_FORMAT, PAYLOAD_TYPE
 */
export const verifyEnvelope = (bytes: Uint8Array, keys: readonly PublicKey[], what: string): Envelope => {
  const envelope = parseEnvelope(bytes, what);
  const key = keys.find(({ hint }) => hint === envelope.hint);
  if (!key) {
    throw new FleetError('UNKNOWN_KEY', `${what} is signed by a key that may not sign it`, {
      subject: envelope.hint.slice(0, 80),
    });
  }
  if (!verifySignature(key, preAuthEncoding(envelope.payloadType, envelope.payload), envelope.signature)) {
    throw new FleetError('BAD_SIGNATURE', `the signature of ${what} does not match its content`, {
      subject: envelope.hint,
    });
  }
  return envelope;
};

/**
 * The payload to sign: canonical JSON of an in-toto Statement v1, subjects sorted by name.
 * @throws FleetError SCHEMA for no subject or two of one name, which readers reject
 */
export const encodeStatement = (
  subjects: readonly Subject[],
  predicateType: string,
  predicate: Json,
): Buffer => {
  checkNames(subjects, 'the statement');
  return canonicalBytes({
    _type: IN_TOTO_STATEMENT,
    subject: subjects
      .toSorted((a, b) => compareBytes(a.name, b.name))
      .map(({ name, digest }) => ({ name, digest: { sha256: hexOf(digest) } })),
    predicateType,
    predicate,
  });
};

const checkCount = (count: number, what: string): void => {
  if (count === 0) throw new FleetError('UNSIGNED', `${what} has no signature`);
  if (count > MAX_SIGNATURES) {
    throw new FleetError('TOO_MANY', `${what} has ${count} signatures, at most ${MAX_SIGNATURES} are read`);
  }
};

/** A threshold counts only signatures over identical bytes. */
const onePayload = (envelopes: readonly Envelope[], what: string): Buffer => {
  const [first, ...rest] = envelopes as readonly [Envelope, ...Envelope[]];
  if (rest.some(({ payload }) => !payload.equals(first.payload))) {
    throw new FleetError('PAYLOAD_MISMATCH', `the signatures of ${what} are over different contents`);
  }
  return first.payload;
};

const checkThreshold = (envelopes: readonly Envelope[], threshold: number, what: string): string[] => {
  const signers = [...new Set(envelopes.map(({ hint }) => hint))].toSorted(compareBytes);
  // Negated, so that a threshold of NaN is refused too.
  if (!(signers.length >= threshold)) {
    throw new FleetError(
      'THRESHOLD',
      `${what} is signed by ${signers.length} of the ${threshold} keys needed`,
    );
  }
  return signers;
};

/** The content of a payload, without a check of its signer. */
export type Statement = {
  readonly subjects: readonly Subject[];
  readonly predicateType: string;
  readonly predicate: unknown;
};

/**
 * Parses an in-toto Statement v1 without verifying it; also used by a signer to review a statement before signing.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA
 */
export const parseStatement = (payload: Buffer, what: string): Statement => {
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 32 }, what);
  if (!isRecord(json) || json['_type'] !== IN_TOTO_STATEMENT) {
    throw new FleetError('SCHEMA', `${what} is not an in-toto Statement v1`);
  }
  const { subject, predicateType, predicate } = json;
  if (typeof predicateType !== 'string') throw new FleetError('SCHEMA', `${what} has no predicateType`);
  if (!Array.isArray(subject)) throw new FleetError('SCHEMA', `${what} has no list of subjects`);
  const subjects = subject.map((item: unknown, index) => parseSubject(item, `subject ${index} of ${what}`));
  checkNames(subjects, what);
  return { subjects, predicateType, predicate };
};

const parseSubject = (item: unknown, what: string): Subject => {
  if (!isRecord(item) || typeof item['name'] !== 'string' || !isRecord(item['digest'])) {
    throw new FleetError('SCHEMA', `${what} needs a name and a digest`);
  }
  return { name: item['name'], digest: digestFromHex(item['digest']['sha256'], what) };
};

/** Subjects are looked up by name, so a name may stand for one digest only. */
const checkNames = (subjects: readonly Subject[], what: string): void => {
  if (subjects.length === 0) throw new FleetError('SCHEMA', `${what} has no subject`);
  if (new Set(subjects.map(({ name }) => name)).size !== subjects.length) {
    throw new FleetError('SCHEMA', `${what} has two subjects of one name`);
  }
};
