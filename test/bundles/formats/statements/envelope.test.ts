import { bundleFromJSON } from '@sigstore/bundle';
import { toSignedEntity, toTrustMaterial, Verifier } from '@sigstore/verify';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IN_TOTO, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { MAX_STATEMENT_BYTES, parseEnvelope, preAuthEncoding } from '#bundles/formats/statements/envelope';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { SigningKey } from '#bundles/trust/keys/key';
import { flippedByte, replacedValue } from '../../mutate.ts';
import { refusal } from '../../refusal.ts';
import { newKey } from '../../trust/root/new-key.ts';
import { runs } from '../../../harness/run/long.ts';

const key = newKey();
const payload = Buffer.from('{"_type":"https://in-toto.io/Statement/v1"}');
const bytes = await signPayload(payload, key);
const parsed = JSON.parse(bytes.toString());

const read = (json: unknown) => parseEnvelope(Buffer.from(JSON.stringify(json)), 'release statement');
const refusalOf = (json: unknown) => refusal(() => read(json));

describe('the pre-authentication encoding', () => {
  it('is the DSSE v1 example of its specification', () => {
    expect(preAuthEncoding('http://example.com/HelloWorld', Buffer.from('hello world')).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
  });

  it('counts bytes, not characters', () => {
    expect(preAuthEncoding('ü', Buffer.from('é')).toString()).toBe('DSSEv1 2 ü 2 é');
  });
});

describe('a signed payload', () => {
  it('is parsed from its envelope together with the hint of its key', () => {
    const envelope = parseEnvelope(bytes, 'release statement');
    expect(envelope.payload.equals(payload)).toBe(true);
    expect(envelope).toMatchObject({ payloadType: IN_TOTO, hint: key.public.hint });
  });

  it('is a sigstore bundle v0.3 in canonical JSON without a keyid', () => {
    expect(parsed).toEqual({
      mediaType: SIGSTORE_BUNDLE,
      verificationMaterial: { publicKey: { hint: key.public.hint } },
      dsseEnvelope: {
        payload: payload.toString('base64'),
        payloadType: IN_TOTO,
        signatures: [{ sig: expect.any(String) }],
      },
    });
    expect(bytes.toString().startsWith('{"dsseEnvelope":{"payload":"')).toBe(true);
  });

  it('is accepted by @sigstore/verify, an independent verifier, with the key it names and no other', () => {
    expect(() => verifyWithSigstore(key)).not.toThrow();
    expect(() => verifyWithSigstore(newKey())).toThrow(/signature/);
  });

  it('is not signed when it exceeds the size that readers accept', async () => {
    await expect(signPayload(Buffer.alloc(MAX_STATEMENT_BYTES, 'a'), key)).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
  });
});

/** The oracle, told to trust one key under whatever hint, without logs and timestamps. */
const verifyWithSigstore = (trusted: SigningKey) => {
  const noAuthorities: Parameters<typeof toTrustMaterial>[0] = {
    mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1',
    tlogs: [],
    ctlogs: [],
    certificateAuthorities: [],
    timestampAuthorities: [],
  };
  const material = toTrustMaterial(noAuthorities, () => ({
    publicKey: trusted.public.object,
    validFor: () => true,
  }));
  const verifier = new Verifier(material, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });
  return verifier.verify(toSignedEntity(bundleFromJSON(parsed)));
};

describe('an envelope is refused', () => {
  const [signature] = parsed.dsseEnvelope.signatures;
  const withEnvelope = (change: object) => ({
    ...parsed,
    dsseEnvelope: { ...parsed.dsseEnvelope, ...change },
  });

  it('M9 with two signatures in it', () => {
    expect(refusalOf(withEnvelope({ signatures: [signature, signature] }))).toBe('BUNDLE_FORMAT');
  });

  it('with no signature in it', () => {
    expect(refusalOf(withEnvelope({ signatures: [] }))).toBe('BUNDLE_FORMAT');
  });

  it('M9 when it is a message-signature bundle', () => {
    const { dsseEnvelope, ...rest } = parsed;
    const messageSignature = {
      messageDigest: { algorithm: 'SHA2_256', digest: Buffer.alloc(32).toString('base64') },
      signature: signature.sig,
    };
    expect(refusalOf({ ...rest, messageSignature })).toBe('BUNDLE_FORMAT');
    expect(refusalOf({ ...rest, dsseEnvelope, messageSignature })).toBe('BUNDLE_FORMAT');
  });

  it('M11 when it carries another payload type', () => {
    expect(refusalOf(withEnvelope({ payloadType: 'application/json' }))).toBe('PAYLOAD_TYPE');
  });

  it('when it has a certificate instead of a hint, or an empty hint', () => {
    const certificate = { rawBytes: 'AAAA' };
    expect(refusalOf({ ...parsed, verificationMaterial: { certificate } })).toBe('BUNDLE_FORMAT');
    expect(refusalOf({ ...parsed, verificationMaterial: { publicKey: {} } })).toBe('BUNDLE_FORMAT');
  });

  it('when it is a bundle of another version', () => {
    const mediaType = 'application/vnd.dev.sigstore.bundle+json;version=0.2';
    expect(refusalOf({ ...parsed, mediaType })).toBe('BUNDLE_FORMAT');
  });

  it('when a field occurs twice in two spellings', () => {
    expect(refusalOf({ ...parsed, media_type: 'x' })).toBe('BUNDLE_FORMAT');
    expect(refusalOf(withEnvelope({ payload_type: 'application/json' }))).toBe('BUNDLE_FORMAT');
  });

  it('when its base64 has spaces, missing padding or other characters', () => {
    const { sig } = signature;
    for (const other of [sig.replaceAll('=', ''), `${sig}\n`, `${sig}!`]) {
      if (other !== sig)
        expect(refusalOf(withEnvelope({ signatures: [{ sig: other }] }))).toBe('BUNDLE_FORMAT');
    }
    const loose = `${parsed.dsseEnvelope.payload} `;
    expect(refusalOf(withEnvelope({ payload: loose }))).toBe('BUNDLE_FORMAT');
  });

  it('M38 when it has ten megabytes, before it is parsed', () => {
    expect(refusal(() => parseEnvelope(Buffer.alloc(10_000_000, '['), 'x'))).toBe('TOO_LARGE');
  });

  it('M38 when it has 4,096 signatures', () => {
    expect(refusalOf(withEnvelope({ signatures: Array(4096).fill(signature) }))).toBe('TOO_LARGE');
  });

  it('M39 when it is nested 9,000 deep or repeats a key', () => {
    const deep = Buffer.from(`${'['.repeat(9000)}${']'.repeat(9000)}`);
    expect(refusal(() => parseEnvelope(deep, 'x'))).toBe('TOO_DEEP');
    const twice = Buffer.from(bytes.toString().replace('{"dsse', '{"mediaType":"x","dsse'));
    expect(refusal(() => parseEnvelope(twice, 'x'))).toBe('BAD_JSON');
  });

  it('when it is other JSON than a sigstore bundle', () => {
    for (const json of [null, 1, 'x', [], {}, { mediaType: SIGSTORE_BUNDLE }]) {
      expect(refusalOf(json)).toBe('BUNDLE_FORMAT');
    }
  });
});

describe('what cosign may add to a signature', () => {
  it('is accepted and ignored', () => {
    const verificationMaterial = {
      ...parsed.verificationMaterial,
      tlogEntries: [],
      timestampVerificationData: { rfc3161Timestamps: [] },
    };
    expect(read({ ...parsed, verificationMaterial }).hint).toBe(key.public.hint);
  });
});

describe('parseEnvelope throws only errors with a code', () => {
  it('for any changed byte', () => {
    fc.assert(
      fc.property(flippedByte(bytes), (changed) => {
        refusal(() => parseEnvelope(changed, 'x'));
      }),
      { numRuns: runs(400) },
    );
  });

  it('for any replaced value', () => {
    fc.assert(
      fc.property(replacedValue(parsed), (changed) => {
        refusal(() => parseEnvelope(changed, 'x'));
      }),
      { numRuns: runs(400) },
    );
  });
});
