import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { newSigstore, type RootParts, type Sigstore } from '../../../harness/sigstore/sigstore.ts';
import { certificatePolicy, judgedImage } from './judged-image.ts';
import { certifyWithBundle, type Proofs, type SigstoreBundle } from './sign-by-certificate.ts';

/**
 * The cases by which sigstore-conformance tests verifiers (its names, before each title), with bundles of an instance of our own. What is
 * expected there is expected here, except for bundles older than v0.3, which are no signatures for us.
 */

const MINUTE = 60_000;
const SOON = new Date(Math.floor(Date.now() / 1000) * 1000 + MINUTE);
const HOUR_AGO = new Date(Date.now() - 60 * MINUTE);
const IN_AN_HOUR = new Date(Date.now() + 60 * MINUTE);

let ours: Sigstore;
let other: Sigstore;
/** Certificates, entries and timestamps of it have one known time. */
let dated: Sigstore;
/** Its certificates and timestamps are older than its chains. */
let early: Sigstore;
/** Its timestamps are of a time when its certificates have ended. */
let late: Sigstore;
let byRsa: Sigstore;

beforeAll(async () => {
  ours = await newSigstore();
  other = await newSigstore();
  dated = await newSigstore({ issuedAt: SOON, stampedAt: SOON });
  early = await newSigstore({ issuedAt: HOUR_AGO, stampedAt: HOUR_AGO });
  late = await newSigstore({ stampedAt: IN_AN_HOUR });
  byRsa = await newSigstore({ logKey: RSA });
});

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 });
const HOLDS = /^holds$/;
const NO_LOG = /its log entry is in no log of the trusted root$/;
const OTHER_ENTRY = /its log entry is of another signature$/;
const NO_SIGNATURE = /has no signature, and must have one by a certificate/;
const NO_TIMESTAMP = /its signed timestamp is by no authority of the trusted root, or of another signature$/;
const NOT_THEN = /it was signed at \S+Z, and its certificate was valid from \S+Z to \S+Z$/;

type Entry = SigstoreBundle['verificationMaterial']['tlogEntries'][number];

const entry = (change: (entry: Entry) => void, more: Proofs = {}): Proofs => ({
  ...more,
  edit: ({ verificationMaterial: { tlogEntries } }) => tlogEntries.forEach(change),
});
const checkpoint = (change: (envelope: string) => string): Proofs =>
  entry(({ inclusionProof: proof }) => {
    proof.checkpoint = { envelope: change(proof.checkpoint.envelope) };
  });
const withoutLine = (index: number): Proofs =>
  checkpoint((envelope) => envelope.split('\n').toSpliced(index, 1).join('\n'));
const line = (name: string): string => `— ${name} ${randomBytes(76).toString('base64')}\n`;
const originOf = (envelope: string): string => envelope.split('\n')[0] ?? '';
const flipped = (text: string): string => {
  const bytes = Buffer.from(text, 'base64');
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  return bytes.toString('base64');
};
const validUntil =
  (end: Date) =>
  (parts: readonly object[]): readonly object[] =>
    parts.map((part) => {
      const validFor = { start: new Date(0).toISOString(), end: end.toISOString() };
      return 'publicKey' in part
        ? { ...part, publicKey: { ...(part.publicKey as object), validFor } }
        : { ...part, validFor };
    });
const SECOND_BEFORE = new Date(SOON.getTime() - 1000);

type Case = readonly [
  names: string,
  title: string,
  said: RegExp,
  proofs?: Proofs | (() => Proofs),
  more?: { by?: () => Sigstore; root?: (by: Sigstore) => Partial<RootParts>; another?: true },
];

const VALID: readonly Case[] = [
  ['happy-path-v0.3-new-mediaType', 'an entry with a signed time', HOLDS, { log: 1 }],
  ['rekor2-happy-path, rekor2-dsse-happy-path', 'an entry without a time, and a timestamp', HOLDS],
  [
    'rekor2-checkpoint-cosigned',
    'a witness signed the checkpoint, too',
    HOLDS,
    checkpoint((envelope) => envelope + line('witness.example')),
  ],
  [
    'rekor2-checkpoint-multiple-cosigs',
    'several witnesses did',
    HOLDS,
    checkpoint((envelope) => envelope + line('witness.example') + line('second.example')),
  ],
  [
    'rekor2-checkpoint-origin-not-first',
    'the signature of the witness comes first',
    HOLDS,
    checkpoint((envelope) => envelope.replace('\n\n', `\n\n${line('witness.example')}`)),
  ],
  [
    'rekor2-checkpoint-two-sigs-from-origin, rekor2-checkpoint-two-sigs-cosigned',
    'a second signature in the name of the log, by a key that the root has not',
    HOLDS,
    checkpoint((envelope) => envelope + line(originOf(envelope)) + line('witness.example')),
  ],
  [
    'rekor2-timestamp-with-embedded-cert',
    "a timestamp with its authority's certificate",
    HOLDS,
    { timestampCertificate: true },
  ],
  ['rekor2-timestamp-without-embedded-cert', 'one without it', HOLDS, { timestampCertificate: false }],
  [
    'trust-root-tlog-validity-end-inclusive',
    'the time of the entry is the last at which the log is trusted',
    HOLDS,
    { log: 1, loggedAt: SOON },
    { by: () => dated, root: ({ root }) => ({ tlogs: validUntil(SOON)(root.tlogs) }) },
  ],
  [
    'trust-root-tsa-validity-end-inclusive',
    'the timestamp is of the last second in which its authority is trusted',
    HOLDS,
    {},
    {
      by: () => dated,
      root: ({ root }) => ({ timestampAuthorities: validUntil(SOON)(root.timestampAuthorities) }),
    },
  ],
];

const INVALID: readonly Case[] = [
  [
    'bundle-empty-certificate-chain, bundle-with-root-cert',
    'a chain of certificates, as bundles before v0.3 have',
    NO_SIGNATURE,
    {
      edit: ({ verificationMaterial: material }) => {
        material['x509CertificateChain'] = {
          certificates: [material['certificate'], material['certificate']],
        };
        delete material['certificate'];
      },
    },
  ],
  [
    'happy-path-v0.1, happy-path-v0.2, happy-path-v0.3: valid there',
    'the media type of an older version',
    NO_SIGNATURE,
    { edit: (bundle) => void (bundle.mediaType = 'application/vnd.dev.sigstore.bundle+json;version=0.3') },
  ],
  [
    'bundle-unknown-version',
    'the media type of a version that nobody knows',
    NO_SIGNATURE,
    { edit: (bundle) => void (bundle.mediaType = 'application/vnd.dev.sigstore.bundle.v0.9+json') },
  ],
  [
    'bundle-invalid-base64-signature',
    'a signature that is not base64',
    NO_SIGNATURE,
    { edit: ({ dsseEnvelope }) => void (dsseEnvelope.signatures = [{ sig: '!!! no base64 !!!' }]) },
  ],
  [
    'bundle-from-wrong-instance',
    'another instance',
    /no authority of the trusted root issued|by no authority of the trusted root|in no log of the trusted root/,
    {},
    { by: () => other, root: () => ours.root },
  ],
  [
    'bundle-negative-log-index',
    'an entry before the first',
    NO_LOG,
    entry((one) => {
      one.logIndex = '-1';
      one.inclusionProof.logIndex = '-1';
    }),
  ],
  [
    'checkpoint-bad-keyhint, rekor2-checkpoint-missing-log-signature',
    'only a witness signed the checkpoint',
    NO_LOG,
    checkpoint((envelope) => envelope.replace(/— [^\n]*\n/, line('witness.example'))),
  ],
  [
    'checkpoint-wrong-roothash',
    'a genuine checkpoint of the log with another entry',
    NO_LOG,
    () =>
      checkpoint(
        () =>
          ours.logWithoutTime({ kind: 'hashedrekord', apiVersion: '0.0.2', spec: {} }).inclusionProof
            .checkpoint.envelope,
      ),
  ],
  [
    'invalid-checkpoint-signature',
    'a changed signature of the checkpoint',
    NO_LOG,
    checkpoint((envelope) => envelope.replace(/(\S+)\n$/, (_, text: string) => `${flipped(text)}\n`)),
  ],
  ['rekor2-checkpoint-missing-origin', 'a checkpoint without its origin', NO_LOG, withoutLine(0)],
  ['rekor2-checkpoint-missing-size', 'a checkpoint without the size of the log', NO_LOG, withoutLine(1)],
  ['rekor2-checkpoint-missing-root-hash', 'a checkpoint without its hash', NO_LOG, withoutLine(2)],
  [
    'rekor2-checkpoint-no-matching-signature',
    "the log's signature in another name",
    NO_LOG,
    checkpoint((envelope) => envelope.replace(/— \S+/, '— log.example')),
  ],
  [
    'dsse-invalid-sig, rekor2-dsse-invalid-sig, signature-mismatch',
    'the certificate signed something else',
    /its signature does not match its content or its certificate$/,
    { signs: Buffer.from('something else') },
  ],
  [
    'dsse-mismatch-envelope, rekor2-dsse-mismatch-envelope, intoto-log-entry-mismatch',
    'another statement about the image than the logged one',
    OTHER_ENTRY,
    {
      edit: ({ dsseEnvelope }) => {
        const said = JSON.parse(Buffer.from(dsseEnvelope.payload, 'base64').toString()) as object;
        dsseEnvelope.payload = Buffer.from(
          JSON.stringify({ ...said, predicate: { of: 'another' } }),
        ).toString('base64');
      },
    },
  ],
  [
    'dsse-mismatch-sig, rekor2-dsse-mismatch-sig, wrong-hashedrekord-entry, wrong-hashedrekord-cert-and-sig',
    'the entry has another signature of the same statement',
    OTHER_ENTRY,
    { logged: randomBytes(71) },
  ],
  [
    'wrong-hashedrekord-artifact, incorrect-public-key',
    'the text of the entry was changed',
    NO_LOG,
    entry((one) => {
      const body = Buffer.from(one.canonicalizedBody ?? '', 'base64').toString();
      one.canonicalizedBody = Buffer.from(body.replace('P256', 'P384')).toString('base64');
    }),
  ],
  [
    'inclusion-proof-corrupted-hash',
    'a changed hash of the proof',
    NO_LOG,
    entry(({ inclusionProof: proof }) => void (proof.hashes = proof.hashes.map(flipped))),
  ],
  [
    'invalid-inclusion-proof',
    'the proof of another entry',
    NO_LOG,
    entry(({ inclusionProof: proof }) => void (proof.logIndex = '0')),
  ],
  [
    'rekor2-no-inclusion-proof, intoto-missing-inclusion-proof',
    'no proof at all',
    NO_SIGNATURE,
    {
      edit: ({ verificationMaterial }) =>
        verificationMaterial.tlogEntries.forEach(
          (one) => delete (one as { inclusionProof?: unknown }).inclusionProof,
        ),
    },
  ],
  [
    'set-invalid-signature',
    'a changed promise of inclusion',
    NO_LOG,
    entry(
      (one) => {
        one.inclusionPromise = {
          signedEntryTimestamp: flipped(one.inclusionPromise?.signedEntryTimestamp ?? ''),
        };
      },
      { log: 1 },
    ),
  ],
  [
    'set-invalid-signature',
    'a changed time beside the promise that signs it',
    NO_LOG,
    entry((one) => void (one.integratedTime = `${Number(one.integratedTime) + 1}`), { log: 1 }),
  ],
  [
    'integrated-time-in-future, intoto-set-outside-signing-cert-validity',
    'logged when its certificate had ended',
    NOT_THEN,
    { log: 1, loggedAt: IN_AN_HOUR },
  ],
  [
    'intoto-tsa-timestamp-outside-cert-validity',
    'logged in time, with a timestamp that is not',
    NOT_THEN,
    { log: 1, timestamped: true },
    { by: () => late },
  ],
  [
    'rekor2-timestamp-with-incorrect-time',
    'a timestamp from when its certificate had ended',
    NOT_THEN,
    {},
    { by: () => late },
  ],
  [
    'intoto-expired-certificate',
    'logged before its certificate began',
    NOT_THEN,
    { log: 1, loggedAt: HOUR_AGO },
  ],
  [
    'invalid-ct-key',
    'a root whose log of certificates has another key',
    /no authority of the trusted root issued its certificate, or no log of certificates in it has it$/,
    {},
    { root: () => ({ ctlogs: other.root.ctlogs }) },
  ],
  [
    'rekor2-no-timestamp',
    'an entry without a time, and no timestamp',
    /neither a signed timestamp nor a log entry with a signed time proves/,
    { timestamped: false },
  ],
  [
    'rekor2-timestamp-payload-mismatch',
    'the timestamp of another signature',
    NO_TIMESTAMP,
    { timestampOf: Buffer.from('another signature') },
  ],
  [
    'rekor2-timestamp-outside-trust-root-tsa-validity',
    'a timestamp from after its authority was trusted',
    NO_TIMESTAMP,
    {},
    {
      by: () => dated,
      root: ({ root }) => ({ timestampAuthorities: validUntil(SECOND_BEFORE)(root.timestampAuthorities) }),
    },
  ],
  [
    'trust-root-tlog-validity-end-inclusive: the second after',
    'an entry from after its log was trusted',
    NO_LOG,
    { log: 1, loggedAt: SOON },
    { by: () => dated, root: ({ root }) => ({ tlogs: validUntil(SECOND_BEFORE)(root.tlogs) }) },
  ],
  [
    'rekor2-timestamp-outside-tsa-cert-validity',
    "a timestamp from when its authority's certificates were not valid",
    NO_TIMESTAMP,
    {},
    { by: () => early },
  ],
  [
    'rekor2-timestamp-untrusted-tsa-with-embedded-cert',
    'the timestamp of a stranger, with his certificate',
    NO_TIMESTAMP,
    () => ({ timestampBy: other }),
  ],
  [
    'rekor2-timestamp-untrusted-tsa-without-embedded-cert',
    'one without it',
    NO_TIMESTAMP,
    () => ({ timestampBy: other, timestampCertificate: false }),
  ],
  [
    'wrong-material',
    'the signature of another image',
    /the signatures beside it are for another image$/,
    {},
    { another: true },
  ],
];

const verdictOf = ([, , , proofs = {}, { by, root, another } = {}]: Case): Promise<string> => {
  const instance = by?.() ?? ours;
  const wanted = certificatePolicy(instance, root?.(instance));
  const made = typeof proofs === 'function' ? proofs() : proofs;
  return judgedImage(certifyWithBundle, wanted, { by: instance, proofs: made, another: another ?? false });
};

describe('a signature by certificate holds', () => {
  it.for(VALID)('%s: %s', async (one) => {
    expect(await verdictOf(one)).toMatch(one[2]);
  });

  it('rekor2-timestamp-with-expired-cert-chain: years after every certificate of its instance expired', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3 * 365 * 24 * 60 * MINUTE });
    try {
      const bygone = await newSigstore();
      const signThen: typeof certifyWithBundle = async (...words) => {
        const signature = await certifyWithBundle(...words);
        vi.useRealTimers();
        return signature;
      };
      expect(await judgedImage(signThen, certificatePolicy(bygone), { by: bygone })).toBe('holds');
    } finally {
      vi.useRealTimers();
    }
  });

  it.each([
    ['as PKCS #1, as in the root of the public staging instance', 'pkcs1', 'PKCS1_RSA_PKCS1V5'],
    ['as cosign trusted-root create writes it', 'spki', 'PKIX_RSA_PKCS1V15_2048_SHA256'],
  ] as const)('with an RSA key of its log, written %s', async (_, type, keyDetails) => {
    const rawBytes = RSA.publicKey.export({ type, format: 'der' }).toString('base64');
    const tlogs = byRsa.root.tlogs.map((log) => ({
      ...log,
      publicKey: { rawBytes, keyDetails, validFor: { start: new Date(0).toISOString() } },
    }));
    const wanted = certificatePolicy(byRsa, { tlogs: tlogs.slice(0, 1) });
    expect(await judgedImage(certifyWithBundle, wanted, { by: byRsa, proofs: { log: 1 } })).toBe('holds');
    const promised = entry(({ inclusionPromise }) => {
      (inclusionPromise as { signedEntryTimestamp: string }).signedEntryTimestamp =
        randomBytes(256).toString('base64');
    });
    expect(
      await judgedImage(certifyWithBundle, wanted, { by: byRsa, proofs: { ...promised, log: 1 } }),
    ).toMatch(NO_LOG);
  });
});

describe('a signature by certificate is refused', () => {
  it.for(INVALID)('%s: %s', async (one) => {
    expect(await verdictOf(one)).toMatch(one[2]);
  });
});
