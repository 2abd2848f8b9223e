import { X509Certificate } from 'node:crypto';
import { type Bundle, bundleFromJSON, BUNDLE_V01_MEDIA_TYPE } from '@sigstore/bundle';
import { digestOf, hexOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
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

/**
 * The signature of a `.sig` layer by certificate as a sigstore bundle, which has the same parts.
 * @param payload that the signature is over
 * @returns undefined for a signature by key
 * @throws FleetError BUNDLE_FORMAT, BAD_JSON
 */
export const certifiedSignature = (
  annotations: Annotations,
  payload: Buffer,
  signature: string,
  what: string,
): Bundle | undefined => {
  const certificate = annotations[COSIGN_CERTIFICATE];
  if (!certificate) return undefined;
  const entry = annotations[COSIGN_LOG_ENTRY];
  const timestamp = annotations[COSIGN_TIMESTAMP];
  try {
    return bundleFromJSON({
      mediaType: BUNDLE_V01_MEDIA_TYPE,
      messageSignature: {
        messageDigest: {
          algorithm: 'SHA2_256',
          digest: Buffer.from(hexOf(digestOf(payload)), 'hex').toString('base64'),
        },
        signature,
      },
      verificationMaterial: {
        certificate: { rawBytes: new X509Certificate(certificate).raw.toString('base64') },
        tlogEntries: entry ? [logEntry(parsed(entry, what))] : [],
        timestampVerificationData: {
          rfc3161Timestamps: timestamp
            ? [{ signedTimestamp: parsed(timestamp, what)['SignedRFC3161Timestamp'] }]
            : [],
        },
      },
    });
  } catch (cause) {
    throw new FleetError(
      'BUNDLE_FORMAT',
      `${what} has no certificate, log entry or timestamp that can be read`,
      {
        cause,
      },
    );
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

const parsed = (text: string, what: string): Readonly<Record<string, unknown>> => {
  const json = parseStrictJson(Buffer.from(text), { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 16 }, what);
  if (!isRecord(json)) throw new TypeError('not a JSON object');
  return json;
};
