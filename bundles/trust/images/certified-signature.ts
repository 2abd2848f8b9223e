import { X509Certificate } from 'node:crypto';
import { type Bundle, bundleFromJSON, BUNDLE_V01_MEDIA_TYPE } from '@sigstore/bundle';
import { digestOf, hexOf } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { MAX_STATEMENT_BYTES } from '../../formats/statements/envelope.ts';
import { COSIGN_CERTIFICATE, COSIGN_LOG_ENTRY, COSIGN_TIMESTAMP } from '../../media-types.ts';

/** Annotations of a layer that cosign 2 signed by certificate, which a bundle carries with its signature. */
const CARRIED = [
  COSIGN_CERTIFICATE,
  'dev.sigstore.cosign/chain',
  COSIGN_LOG_ENTRY,
  COSIGN_TIMESTAMP,
] as const;

type Annotations = Readonly<Record<string, string>>;

/** The annotations that belong to a signature by certificate; empty for a signature by key. */
export const certificateAnnotations = (annotations: Annotations): Annotations =>
  annotations[COSIGN_CERTIFICATE]
    ? Object.fromEntries(CARRIED.flatMap((name) => (annotations[name] ? [[name, annotations[name]]] : [])))
    : {};

/** Why a signature by certificate does not count, as the end of a sentence. */
export const UNREADABLE = 'its certificate, log entry or timestamp cannot be read';

/**
 * The signature of a `.sig` layer by certificate as a sigstore bundle, which has the same parts.
 * @param payload that the signature is over
 * @returns undefined without a certificate; 'unreadable' if a part is broken: a signature by key beside it is valid nevertheless
 */
export const certifiedSignature = (
  annotations: Annotations,
  payload: Buffer,
  signature: string,
): Bundle | 'unreadable' | undefined =>
  toBundle(annotations, () => ({
    messageSignature: {
      messageDigest: {
        algorithm: 'SHA2_256',
        digest: Buffer.from(hexOf(digestOf(payload)), 'hex').toString('base64'),
      },
      signature,
    },
  }));

/** The same of an `.att` layer, whose content is a DSSE envelope: payload and signature in base64. */
export const certifiedEnvelope = (
  annotations: Annotations,
  dsseEnvelope: {
    readonly payload: string;
    readonly payloadType: string;
    readonly signatures: readonly { readonly sig: string }[];
  },
): Bundle | 'unreadable' | undefined => toBundle(annotations, () => ({ dsseEnvelope }));

const toBundle = (annotations: Annotations, content: () => object): Bundle | 'unreadable' | undefined => {
  const certificate = annotations[COSIGN_CERTIFICATE];
  if (!certificate) return undefined;
  const entry = annotations[COSIGN_LOG_ENTRY];
  const timestamp = annotations[COSIGN_TIMESTAMP];
  try {
    return bundleFromJSON({
      mediaType: BUNDLE_V01_MEDIA_TYPE,
      ...content(),
      verificationMaterial: {
        certificate: { rawBytes: new X509Certificate(certificate).raw.toString('base64') },
        tlogEntries: entry ? [logEntry(parsed(entry))] : [],
        timestampVerificationData: {
          rfc3161Timestamps: timestamp
            ? [{ signedTimestamp: parsed(timestamp)['SignedRFC3161Timestamp'] }]
            : [],
        },
      },
    });
  } catch {
    return 'unreadable';
  }
};

/** The entry of Rekor's first version: its promise of inclusion signs its time. */
const logEntry = ({ SignedEntryTimestamp, Payload }: Readonly<Record<string, unknown>>): object => {
  const { body, integratedTime, logIndex, logID } = Payload as Readonly<Record<string, unknown>>;
  const { kind, apiVersion } = JSON.parse(Buffer.from(String(body), 'base64').toString()) as Annotations;
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(String(logID), 'hex').toString('base64') },
    kindVersion: { kind, version: apiVersion },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp: SignedEntryTimestamp },
    canonicalizedBody: body,
  };
};

const parsed = (text: string): Readonly<Record<string, unknown>> => {
  const json = parseStrictJson(Buffer.from(text), { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 16 });
  if (!isRecord(json)) throw new TypeError('not a JSON object');
  return json;
};
