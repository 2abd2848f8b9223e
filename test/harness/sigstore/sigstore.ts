import { createHash, generateKeyPairSync, sign } from 'node:crypto';
import { initializeCA, initializeCTLog, initializeTSA } from '@sigstore/mock';
import {
  keyIdOf,
  type LogEntry,
  type LogKey,
  logWithoutTime,
  logWithTime,
  noteKeyIdOf,
  spkiOf,
} from './transparency-log.ts';

/**
 * A sigstore instance with keys of its own: an authority for certificates with a log of them, an authority for timestamps, and logs of
 * Rekor's first and second version.
 */

const LOG_1 = 'rekor.sigstore.example';
const LOG_2 = 'log2026-1.rekor.sigstore.example';
const SHA256_OID = '2.16.840.1.101.3.4.2.1';
const POLICY_OID = '1.3.6.1.4.1.57264.2';

export type Identity = { readonly identity: string; readonly issuer: string };

/** What a trusted root may lack, or take of another instance. */
export type RootParts = Readonly<
  Record<'certificateAuthorities' | 'ctlogs' | 'timestampAuthorities' | 'tlogs', readonly object[]>
>;

export type Sigstore = Awaited<ReturnType<typeof newSigstore>>;

const newKey = (): LogKey => generateKeyPairSync('ec', { namedCurve: 'P-256' });

const bytesOf = (view: ArrayBufferView): Buffer => Buffer.from(view.buffer, view.byteOffset, view.byteLength);

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

type Options = {
  /** When its certificates begin; they last ten minutes. Default: now. */
  readonly issuedAt?: Date;
  /** The time in its timestamps. Default: now. */
  readonly stampedAt?: Date;
  /** Of the log of Rekor's first version. Default: a key on P-256. */
  readonly logKey?: LogKey;
};

export const newSigstore = async ({ issuedAt, stampedAt, logKey = newKey() }: Options = {}) => {
  const [caKey, ctKey, tsaKey] = [newKey(), newKey(), newKey()];
  const log2Key: LogKey = generateKeyPairSync('ed25519');
  const ctLog = await initializeCTLog(ctKey, issuedAt);
  const ca = await initializeCA(caKey, ctLog, issuedAt);
  const tsa = await initializeTSA(tsaKey);
  // @sigstore/core reads no time with one or two digits behind the second.
  Object.assign(tsa, {
    getCurrentTime: () => new Date(Math.floor((stampedAt ?? new Date()).getTime() / 1000) * 1000),
  });
  const validFor = { start: new Date(0).toISOString() };
  const authority = (uri: string, certificates: readonly ArrayBufferView[]) => ({
    subject: { organization: 'sigstore.example', commonName: 'sigstore' },
    uri,
    certChain: { certificates: certificates.map((one) => ({ rawBytes: base64(bytesOf(one)) })) },
    validFor,
  });
  const log = (baseUrl: string, { publicKey }: LogKey, keyDetails: string, keyId: Buffer) => ({
    baseUrl,
    hashAlgorithm: 'SHA2_256',
    publicKey: { rawBytes: base64(spkiOf(publicKey)), keyDetails, validFor },
    logId: { keyId: base64(keyId) },
  });
  const root: RootParts = {
    tlogs: [
      log(`https://${LOG_1}`, logKey, 'PKIX_ECDSA_P256_SHA_256', keyIdOf(logKey)),
      log(`https://${LOG_2}`, log2Key, 'PKIX_ED25519', noteKeyIdOf(LOG_2, log2Key)),
    ],
    certificateAuthorities: [authority('https://fulcio.sigstore.example', [ca.rootCertificate])],
    ctlogs: [log('https://ctfe.sigstore.example', ctKey, 'PKIX_ECDSA_P256_SHA_256', keyIdOf(ctKey))],
    timestampAuthorities: [
      authority('https://timestamp.sigstore.example', [tsa.intCertificate, tsa.rootCertificate]),
    ],
  };
  const certify = async ({ identity, issuer }: Identity, publicKey: Uint8Array): Promise<Buffer> =>
    bytesOf(
      await ca.issueCertificate({
        publicKey: new Uint8Array(publicKey),
        subjectAltName: identity,
        extensions: [
          { oid: '1.3.6.1.4.1.57264.1.1', value: issuer, legacy: true },
          { oid: '1.3.6.1.4.1.57264.1.8', value: issuer },
        ],
      }),
    );
  return {
    authority: bytesOf(ca.rootCertificate),
    /** Files with one key or certificate each, by the variable that tells cosign 2 of one. */
    filesOfCosign2: {
      SIGSTORE_ROOT_FILE: pemOf('CERTIFICATE', bytesOf(ca.rootCertificate)),
      SIGSTORE_REKOR_PUBLIC_KEY: pemOf('PUBLIC KEY', spkiOf(logKey.publicKey)),
      SIGSTORE_CT_LOG_PUBLIC_KEY_FILE: pemOf('PUBLIC KEY', spkiOf(ctKey.publicKey)),
    },
    certify,
    root,
    /** The text of trusted_root.json, with other parts where a test wants them. */
    trustedRoot: (parts: Partial<RootParts> = {}): string =>
      JSON.stringify({
        mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
        ...root,
        ...parts,
      }),
    /** A certificate of ten minutes for a key that is used once. */
    issue: async (who: Identity) => {
      const key = newKey();
      return {
        certificate: await certify(who, spkiOf(key.publicKey)),
        sign: (bytes: Uint8Array): Buffer => sign('sha256', bytes, key.privateKey),
      };
    },
    /** A signed timestamp (RFC 3161) of a signature, with the certificate of the authority or without it. */
    timestamp: async (
      signature: Uint8Array,
      { digest = sha256(signature), certificate = true }: { digest?: Buffer; certificate?: boolean } = {},
    ): Promise<Buffer> =>
      bytesOf(
        await tsa.timestamp({
          artifactHash: digest,
          hashAlgorithmOID: SHA256_OID,
          nonce: 1,
          policyOID: POLICY_OID,
          certReq: certificate,
        }),
      ),
    logWithTime: (entry: Parameters<typeof logWithTime>[0], time = new Date()): LogEntry =>
      logWithTime(entry, { host: LOG_1, key: logKey, time }),
    logWithoutTime: (entry: Parameters<typeof logWithoutTime>[0]): LogEntry =>
      logWithoutTime(entry, { host: LOG_2, key: log2Key }),
  };
};

export const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

export const pemOf = (label: 'CERTIFICATE' | 'PUBLIC KEY', der: Uint8Array): string =>
  `-----BEGIN ${label}-----\n${base64(der).replaceAll(/.{64}(?!$)/g, '$&\n')}\n-----END ${label}-----\n`;
