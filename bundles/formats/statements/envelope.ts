import {
  type Bundle,
  bundleFromJSON,
  type BundleWithDsseEnvelope,
  isBundleWithDsseEnvelope,
} from '@sigstore/bundle';
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
export const parseEnvelope = (bytes: Uint8Array, what: string, maxBytes = MAX_STATEMENT_BYTES): Envelope =>
  byHint(parseSigned(bytes, what, maxBytes), what);

/** As Envelope, with the certificate of its signer and what proves when it was signed. */
export type CertifiedEnvelope = Omit<Envelope, 'hint'> & { readonly bundle: Bundle };

/**
 * Parses the signature or attestation of an image: a sigstore bundle that names its signer by the hint of a key or by a certificate. Does not verify it.
 * @throws FleetError as parseEnvelope
 */
export const parseImageEnvelope = (
  bytes: Uint8Array,
  what: string,
  maxBytes = MAX_STATEMENT_BYTES,
): CertifiedEnvelope | Envelope => {
  const signed = parseSigned(bytes, what, maxBytes);
  if (signed.bundle.verificationMaterial.content.$case !== 'certificate') return byHint(signed, what);
  checkPlain(signed, 'certificate', what);
  const { payload, payloadType, signature, bundle } = signed;
  return { payload, payloadType, signature, bundle };
};

const byHint = (signed: Signed, what: string): Envelope => {
  const { content } = signed.bundle.verificationMaterial;
  if (content.$case !== 'publicKey' || !content.publicKey.hint)
    throw formatError(what, 'names no public key by its hint');
  checkPlain(signed, 'publicKey', what);
  const { payload, payloadType, signature } = signed;
  return { payload, payloadType, hint: content.publicKey.hint, signature };
};

type Signed = Omit<Envelope, 'hint'> & { readonly bundle: BundleWithDsseEnvelope; readonly json: Raw };

const parseSigned = (bytes: Uint8Array, what: string, maxBytes: number): Signed => {
  const json = parseStrictJson(bytes, { maxBytes, maxDepth: 32 }, what);
  const bundle = readBundle(json, what);
  if (bundle.mediaType !== SIGSTORE_BUNDLE) throw formatError(what, 'is not a sigstore bundle v0.3');
  if (!isBundleWithDsseEnvelope(bundle)) throw formatError(what, 'signs a digest, not a DSSE envelope');
  const { payload, payloadType, signatures } = bundle.content.dsseEnvelope;
  if (signatures.length !== 1 || !signatures[0]) throw formatError(what, 'needs exactly one signature');
  if (payloadType !== IN_TOTO) {
    throw new FleetError(
      'PAYLOAD_TYPE',
      `${what} carries ${JSON.stringify(payloadType.slice(0, 80))}, not ${IN_TOTO}`,
    );
  }
  return { payload, payloadType, signature: signatures[0].sig, bundle, json: json as Raw };
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

type Raw = Readonly<Record<'dsseEnvelope' | 'verificationMaterial', Readonly<Record<string, unknown>>>>;

/**
 * A sigstore bundle is protobuf JSON, which has two spellings of every field and two alphabets of base64; readers also differ
 * on unknown fields and on unused bits of base64. Only the canonical spelling is accepted, so that every verifier sees the
 * same document. Log entries and timestamps that cosign may add beside a key are allowed and ignored: trust comes from the key alone.
 */
const checkPlain = (
  { json: raw, payload, signature: sig }: Signed,
  signer: keyof typeof SIGNER_FIELD,
  what: string,
): void => {
  const [signature] = raw.dsseEnvelope['signatures'] as [Record<string, unknown>];
  const material = raw.verificationMaterial;
  const plain =
    hasOnly(raw, ['mediaType', 'verificationMaterial', 'dsseEnvelope']) &&
    hasOnly(material, [signer, 'tlogEntries', 'timestampVerificationData']) &&
    hasOnly(material[signer] as object, [SIGNER_FIELD[signer]]) &&
    hasOnly(raw.dsseEnvelope, ['payload', 'payloadType', 'signatures']) &&
    hasOnly(signature, ['sig', 'keyid']) &&
    raw.dsseEnvelope['payload'] === payload.toString('base64') &&
    signature['sig'] === sig.toString('base64');
  if (!plain) throw formatError(what, 'has fields or base64 that a sigstore bundle v0.3 does not have');
};

/** The one field of each form of a signer's name. */
const SIGNER_FIELD = { publicKey: 'hint', certificate: 'rawBytes' } as const;

const hasOnly = (value: object, allowed: readonly string[]): boolean =>
  Object.keys(value).every((key) => allowed.includes(key));
