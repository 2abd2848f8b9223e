import { beforeAll, describe, expect, it } from 'vitest';
import type { ImagePolicy } from '#bundles/formats/bundle/image-policy';
import { parseTrustedRoot } from '#bundles/trust/images/trusted-root';
import { type Blobs, closureEntry, putImage, putLayer } from '../../../agent/images/image-fixture.ts';
import { newSigstore, type RootParts, type Sigstore } from '../../../harness/sigstore/sigstore.ts';
import { newKey } from '../root/new-key.ts';
import { certificatePolicy, IDENTITY, ISSUER, judgedImage, verdictOf, WHO } from './judged-image.ts';
import { certifySimply, certifyWithBundle, type Proofs } from './sign-by-certificate.ts';
import { policyOf, signWithBundle, withAttachments } from './sign-image.ts';

const FORMS = { "cosign 3's bundle": certifyWithBundle, "cosign 2's annotations": certifySimply } as const;

let ours: Sigstore;
let other: Sigstore;

beforeAll(async () => {
  ours = await newSigstore();
  other = await newSigstore();
});

const policy = (who = WHO, parts: Partial<RootParts> = {}, more: Partial<ImagePolicy> = {}): ImagePolicy => ({
  ...certificatePolicy(ours, parts, who),
  ...more,
});

const judged = (
  form: (typeof FORMS)[keyof typeof FORMS],
  wanted: ImagePolicy,
  signing: { who?: typeof WHO; by?: Sigstore; proofs?: Proofs } = {},
): Promise<string> => judgedImage(form, wanted, { by: ours, ...signing });

describe.each(Object.entries(FORMS))('a signature by certificate in %s', (_, form) => {
  it('holds for its identity and issuer, without a key and without a network', async () => {
    expect(await judged(form, policy())).toBe('holds');
  });

  it('holds for an identity with a pattern, where * does not cross a slash', async () => {
    const at = (identity: string) => judged(form, policy({ identity, issuer: ISSUER }));
    expect(await at('https://git.example/team/*/.github/workflows/release.yml@refs/tags/*')).toBe('holds');
    expect(await at('https://git.example/**')).toBe('holds');
    expect(await at('https://git.example/*')).toContain('its certificate is for');
    expect(await at(IDENTITY.slice(0, -1))).toContain('its certificate is for');
  });

  it('of another identity is refused, with both names', async () => {
    const who = { identity: 'https://git.example/stranger/app', issuer: ISSUER };
    const said = await judged(form, policy(), { who });
    expect(said).toContain(
      `is signed, but not by a certificate that ImagePolicy team names (${IDENTITY} by ${ISSUER})`,
    );
    expect(said).toContain(`: its certificate is for "${who.identity}" by "${ISSUER}"`);
  });

  it('of the identity by another issuer is refused', async () => {
    const said = await judged(form, policy(), {
      who: { identity: IDENTITY, issuer: 'https://login.example' },
    });
    expect(said).toContain('was issued on the word of "https://login.example"');
  });

  it('is refused when the trusted root lacks the authority that issued it', async () => {
    const { certificateAuthorities } = other.root;
    expect(await judged(form, policy(WHO, { certificateAuthorities }))).toContain(
      'no authority of the trusted root issued its certificate',
    );
  });

  it('is refused when the trusted root has another log of certificates', async () => {
    const { ctlogs } = other.root;
    expect(await judged(form, policy(WHO, { ctlogs }))).toContain('no log of certificates in it has it');
  });

  it('is refused when the trusted root was replaced by that of another instance', async () => {
    const said = await judged(form, policy(WHO, other.root));
    expect(said).toMatch(/no authority of the trusted root|is in no log of the trusted root/);
  });

  it('is refused when its log is not one of the trusted root', async () => {
    const { tlogs } = other.root;
    expect(await judged(form, policy(WHO, { tlogs }))).toContain('is in no log of the trusted root');
  });

  it('is refused with the log entry of another signature', async () => {
    const logged = Buffer.from('the signature of another image');
    expect(await judged(form, policy(), { proofs: { logged } })).toContain(
      'its log entry is of another signature',
    );
  });

  it('is refused without a log entry, unless the trusted root has no log', async () => {
    const proofs = { log: 'none', timestamped: true } as const;
    expect(await judged(form, policy(), { proofs })).toContain('it has no log entry');
    expect(await judged(form, policy(WHO, { tlogs: [] }), { proofs })).toBe('holds');
  });

  it('is refused when nothing proves that it was made before its certificate ended', async () => {
    const proofs = { log: 'none', timestamped: false } as const;
    expect(await judged(form, policy(WHO, { tlogs: [] }), { proofs })).toMatch(
      /its certificate ended at \S+Z, and neither a signed timestamp nor a log entry with a signed time proves/,
    );
  });

  it('is refused when it was made after its certificate ended', async () => {
    const by = await newSigstore({ issuedAt: new Date(Date.now() - 3_600_000) });
    const { trustedRoot } = by;
    const wanted = policy(
      WHO,
      {},
      {
        certificates: { trustedRoot: parseTrustedRoot(trustedRoot()), signers: [WHO] },
      },
    );
    expect(await judged(form, wanted, { by, proofs: { timestamped: true } })).toMatch(
      /it was signed at \S+Z, and its certificate was valid from \S+Z to \S+Z/,
    );
  });

  it('counts for a policy with the key that signed, with any certificate attached', async () => {
    const key = newKey();
    expect(await judged(form, policyOf(key), { proofs: { key } })).toBe('holds');
    expect(await judged(form, policy(WHO, {}, { keys: [key.public.pem] }), { proofs: { key } })).toBe(
      'holds',
    );
    expect(await judged(form, policy(), { proofs: { key } })).toContain(
      'its signature does not match its content or its certificate',
    );
  });

  it('does not count for a policy with keys alone', async () => {
    expect(await judged(form, policyOf(newKey()))).toMatch(
      /is signed, but not by the key of ImagePolicy team \([0-9a-f]{16}\)$/,
    );
  });
});

it('a signature by key in annotations with a certificate that cannot be read holds for its key alone', async () => {
  const key = newKey();
  const proofs = { key, certificate: 'no certificate' };
  expect(await judged(certifySimply, policyOf(key), { proofs })).toBe('holds');
  expect(await judged(certifySimply, policy(), { proofs })).toContain(
    ': its certificate, log entry or timestamp cannot be read',
  );
});

it('a bundle with the timestamp of another signature, and one of an entry without a signed time alone, are refused', async () => {
  const timestampOf = Buffer.from('another signature');
  expect(await judged(certifyWithBundle, policy(), { proofs: { timestampOf } })).toContain(
    'its signed timestamp is by no authority of the trusted root, or of another signature',
  );
  expect(await judged(certifyWithBundle, policy(), { proofs: { timestamped: false } })).toContain(
    'neither a signed timestamp nor a log entry with a signed time',
  );
  // The first version of Rekor signs the time of an entry.
  expect(await judged(certifyWithBundle, policy(), { proofs: { log: 1 } })).toBe('holds');
});

it('a policy with keys and certificates holds with a signature by either', async () => {
  const key = newKey();
  const both = policy(WHO, {}, { keys: [key.public.pem] });
  expect(await judged(certifyWithBundle, both)).toBe('holds');
  const blobs: Blobs = new Map();
  const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'app' })] });
  const closure = withAttachments(
    blobs,
    closureEntry(image, 'registry.example/team/app'),
    await signWithBundle(blobs, image, key),
  );
  expect(await verdictOf(blobs, closure, both)).toBe('holds');
  expect(await verdictOf(blobs, closure, policy())).toMatch(/is signed, but not by a certificate that/);
});
