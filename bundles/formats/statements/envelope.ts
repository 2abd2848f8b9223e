import { type Bundle, bundleFromJSON } from '@sigstore/bundle';
import { FleetError } from '../../errors.ts';
import { IN_TOTO, SIGSTORE_BUNDLE } from '../../media-types.ts';
import { parseStrictJson } from '../../json/strict-json.ts';

/** One signature over one in-toto statement, from a sigstore bundle. Unverified. */
export type Envelope = {
  readonly payload: Buffer;
  readonly payloadType: string;
  /** publicKey.hint: which key the signer says it used. */
  readonly hint: string;
  readonly signature: Buffer;
};

/** Limit of a statement file, in bytes, for writers and readers. */
export const MAX_STATEMENT_BYTES = 64 * 1024;

/** The signed bytes: DSSE v1 pre-authentication encoding. Lengths count bytes, not characters. */
export const preAuthEncoding = (payloadType: string, payload: Uint8Array): Buffer =>
  Buffer.concat([
    Buffer.from(`DSSEv1 ${Buffer.byteLength(payloadType)} ${payloadType} ${payload.byteLength.toString()} `),
    payload,
  ]);

/**
 * Parses a sigstore bundle v0.3 with exactly one DSSE signature and a public-key hint. Does not verify the signature.
 * @param what name of the file for messages: 'release statement'
 * @param maxBytes statements of ours are small; an attestation is as large as its document
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, BUNDLE_FORMAT, PAYLOAD_TYPE
 */
export const parseEnvelope = (bytes: Uint8Array, what: string, maxBytes = MAX_STATEMENT_BYTES): Envelope => {
  const json = parseStrictJson(bytes, { maxBytes, maxDepth: 32 }, what);
  const { mediaType, content, verificationMaterial } = readBundle(json, what);
  if (mediaType !== SIGSTORE_BUNDLE) throw formatError(what, 'is not a sigstore bundle v0.3');
  if (content.$case !== 'dsseEnvelope') throw formatError(what, 'signs a digest, not a DSSE envelope');
  if (verificationMaterial.content.$case !== 'publicKey' || !verificationMaterial.content.publicKey.hint) {
    throw formatError(what, 'names no public key by its hint');
  }
  const { payload, payloadType, signatures } = content.dsseEnvelope;
  if (signatures.length !== 1 || !signatures[0]) throw formatError(what, 'needs exactly one signature');
  const envelope: Envelope = {
    payload,
    payloadType,
    hint: verificationMaterial.content.publicKey.hint,
    signature: signatures[0].sig,
  };
  checkPlain(json as Raw, envelope, what);
  if (payloadType !== IN_TOTO) {
    throw new FleetError(
      'PAYLOAD_TYPE',
      `${what} carries ${JSON.stringify(payloadType.slice(0, 80))}, not ${IN_TOTO}`,
    );
  }
  return envelope;
};

const formatError = (what: string, why: string, cause?: unknown): FleetError =>
  new FleetError('BUNDLE_FORMAT', `${what} ${why}`, { cause });

const readBundle = (json: unknown, what: string): Bundle => {
  try {
    return bundleFromJSON(json);
  } catch (cause) {
    throw formatError(what, 'is not a sigstore bundle with one DSSE signature', cause);
  }
};

type Raw = Record<'dsseEnvelope' | 'verificationMaterial', Record<string, unknown>>;

/**
 * A sigstore bundle is protobuf JSON, which has two spellings of every field and two alphabets of base64; readers also differ
 * on unknown fields and on unused bits of base64. Only the canonical spelling is accepted, so that every verifier sees the
 * same document. Log entries and timestamps that cosign may add are allowed and ignored: trust comes from keys alone.
 */
const checkPlain = (raw: Raw, envelope: Envelope, what: string): void => {
  const [signature] = raw.dsseEnvelope['signatures'] as [Record<string, unknown>];
  const material = raw.verificationMaterial;
  const plain =
    hasOnly(raw, ['mediaType', 'verificationMaterial', 'dsseEnvelope']) &&
    hasOnly(material, ['publicKey', 'tlogEntries', 'timestampVerificationData']) &&
    hasOnly(material['publicKey'] as object, ['hint']) &&
    hasOnly(raw.dsseEnvelope, ['payload', 'payloadType', 'signatures']) &&
    hasOnly(signature, ['sig', 'keyid']) &&
    raw.dsseEnvelope['payload'] === envelope.payload.toString('base64') &&
    signature['sig'] === envelope.signature.toString('base64');
  if (!plain) throw formatError(what, 'has fields or base64 that a sigstore bundle v0.3 does not have');
};

const hasOnly = (value: object, allowed: readonly string[]): boolean =>
  Object.keys(value).every((key) => allowed.includes(key));
