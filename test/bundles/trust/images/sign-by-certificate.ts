import type { Descriptor } from '#bundles/formats/layout/manifest';
import { preAuthEncoding } from '#bundles/formats/statements/envelope';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { hexOf } from '#bundles/digest';
import {
  COSIGN_CERTIFICATE,
  COSIGN_LOG_ENTRY,
  COSIGN_SIGNATURE,
  COSIGN_TIMESTAMP,
  IN_TOTO,
  IN_TOTO_STATEMENT,
  OCI_EMPTY,
  OCI_MANIFEST,
  SIGSTORE_BUNDLE,
  SIMPLE_SIGNING,
} from '#bundles/media-types';
import { COSIGN_SIGN } from '#bundles/trust/images/read-signatures';
import type { SigningKey } from '#bundles/trust/keys/key';
import { type Blobs, put, putJson } from '../../../agent/images/image-fixture.ts';
import { type Identity, pemOf, sha256, type Sigstore } from '../../../harness/sigstore/sigstore.ts';
import type { LogEntry } from '../../../harness/sigstore/transparency-log.ts';

/** Signatures of images by certificate, in both forms of cosign. */

type Subject = Pick<Descriptor, 'mediaType' | 'digest' | 'size'>;

/** Which proofs a signature gets; a signature of a test may lack one or have that of another. */
export type Proofs = {
  /** Rekor's version: 2 has no time, so that the authority for timestamps proves it. Default 2. */
  readonly log?: 1 | 2 | 'none';
  readonly timestamped?: boolean;
  /** In place of the signature that is logged and timestamped. */
  readonly logged?: Buffer;
  readonly timestampOf?: Buffer;
  readonly loggedAt?: Date;
  /** Signs in place of the key that the certificate is for: cosign sign --key --certificate. */
  readonly key?: SigningKey;
  /** In place of the certificate in PEM. */
  readonly certificate?: string;
  /** Who signs the time, and whether the timestamp has its certificate. Default: the instance, with it. */
  readonly timestampBy?: Sigstore;
  readonly timestampCertificate?: boolean;
  /** What the certificate's key signs in place of the statement. */
  readonly signs?: Buffer;
  /** Changes the finished sigstore bundle. */
  readonly edit?: (bundle: SigstoreBundle) => void;
};

type Writable<T> = { -readonly [name in keyof T]: T[name] };
type WritableEntry = Writable<Omit<LogEntry, 'inclusionProof'>> & {
  inclusionProof: Writable<LogEntry['inclusionProof']>;
};

/** What tests change in the JSON of a sigstore bundle. */
export type SigstoreBundle = {
  mediaType: string;
  verificationMaterial: Record<string, unknown> & {
    tlogEntries: WritableEntry[];
    timestampVerificationData: { rfc3161Timestamps: { signedTimestamp: string }[] };
  };
  dsseEnvelope: { payload: string; payloadType: string; signatures: { sig: string }[] };
};

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

/** Of a DSSE envelope Rekor logs the digest of what is signed. */
const entryOf = (
  sigstore: Sigstore,
  { signed, signature, certificate }: { signed: Buffer; signature: Buffer; certificate: Buffer },
  { log = 2, loggedAt }: Proofs,
): LogEntry =>
  log === 2
    ? sigstore.logWithoutTime({
        kind: 'hashedrekord',
        apiVersion: '0.0.2',
        spec: {
          hashedRekordV002: {
            data: { algorithm: 'SHA2_256', digest: base64(sha256(signed)) },
            signature: {
              content: base64(signature),
              verifier: {
                keyDetails: 'PKIX_ECDSA_P256_SHA_256',
                x509Certificate: { rawBytes: base64(certificate) },
              },
            },
          },
        },
      })
    : sigstore.logWithTime(
        {
          kind: 'hashedrekord',
          apiVersion: '0.0.1',
          spec: {
            data: { hash: { algorithm: 'sha256', value: sha256(signed).toString('hex') } },
            signature: {
              content: base64(signature),
              publicKey: { content: base64(Buffer.from(pemOf('CERTIFICATE', certificate))) },
            },
          },
        },
        loggedAt,
      );

/** cosign 3: a referrer with a sigstore bundle. */
export const certifyWithBundle = async (
  blobs: Blobs,
  { mediaType, digest, size }: Subject,
  sigstore: Sigstore,
  who: Identity,
  proofs: Proofs = {},
): Promise<Descriptor> => {
  const statement = canonicalBytes({
    _type: IN_TOTO_STATEMENT,
    subject: [{ digest: { sha256: hexOf(digest) }, annotations: {} }],
    predicateType: COSIGN_SIGN,
    predicate: {},
  });
  const signer = await sigstore.issue(who);
  const signed = preAuthEncoding(IN_TOTO, statement);
  const signature = (await proofs.key?.sign(signed)) ?? signer.sign(proofs.signs ?? signed);
  const { log = 2, timestamped = log !== 1, logged = signature, timestampOf = signature } = proofs;
  const { timestampBy = sigstore, timestampCertificate: embedded = true } = proofs;
  const entry = entryOf(sigstore, { signed, signature: logged, certificate: signer.certificate }, proofs);
  const bundle: SigstoreBundle = {
    mediaType: SIGSTORE_BUNDLE,
    verificationMaterial: {
      certificate: { rawBytes: base64(signer.certificate) },
      tlogEntries: log === 'none' ? [] : [entry],
      timestampVerificationData: {
        rfc3161Timestamps: timestamped
          ? [{ signedTimestamp: base64(await timestampBy.timestamp(timestampOf, { certificate: embedded })) }]
          : [],
      },
    },
    dsseEnvelope: {
      payload: base64(statement),
      payloadType: IN_TOTO,
      signatures: [{ sig: base64(signature) }],
    },
  };
  proofs.edit?.(bundle);
  return putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: SIGSTORE_BUNDLE,
    config: put(blobs, OCI_EMPTY, Buffer.from('{}')),
    layers: [put(blobs, SIGSTORE_BUNDLE, canonicalBytes(bundle as unknown as Json))],
    subject: { mediaType, digest, size },
  });
};

/** cosign 2: a layer of the `.sig` manifest, with the certificate and its proofs in annotations. */
export const certifySimply = async (
  blobs: Blobs,
  { digest }: Subject,
  sigstore: Sigstore,
  who: Identity,
  proofs: Proofs = {},
): Promise<Descriptor> => {
  const payload = canonicalBytes({
    critical: {
      identity: { 'docker-reference': 'registry.example/team/app' },
      image: { 'docker-manifest-digest': digest },
      type: 'cosign container image signature',
    },
    optional: null,
  });
  const signer = await sigstore.issue(who);
  const signature = (await proofs.key?.sign(payload)) ?? signer.sign(payload);
  const { log = 1, timestamped = false, logged = signature } = proofs;
  const entry = entryOf(
    sigstore,
    { signed: payload, signature: logged, certificate: signer.certificate },
    { ...proofs, log: 1 },
  );
  const annotations: Record<string, string> = {
    [COSIGN_SIGNATURE]: base64(signature),
    [COSIGN_CERTIFICATE]: proofs.certificate ?? pemOf('CERTIFICATE', signer.certificate),
  };
  if (log !== 'none') {
    annotations[COSIGN_LOG_ENTRY] = JSON.stringify({
      SignedEntryTimestamp: entry.inclusionPromise?.signedEntryTimestamp,
      Payload: {
        body: entry.canonicalizedBody,
        integratedTime: Number(entry.integratedTime),
        logIndex: Number(entry.logIndex),
        logID: Buffer.from(entry.logId.keyId, 'base64').toString('hex'),
      },
    });
  }
  if (timestamped) {
    annotations[COSIGN_TIMESTAMP] = JSON.stringify({
      SignedRFC3161Timestamp: base64(await sigstore.timestamp(signature)),
    });
  }
  return putJson(blobs, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: put(blobs, OCI_EMPTY, Buffer.from('{}')),
    layers: [{ ...put(blobs, SIMPLE_SIGNING, payload), annotations }],
  });
};
