import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement, type RoleKeys, verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/keys/key';
import { flippedByte, replacedValue } from '../../mutate.ts';
import { refusal } from '../../refusal.ts';
import { newKey, publics } from '../root/new-key.ts';
import { runs } from '../../../harness/run/long.ts';

const [release, lease, scheduler, approver, stranger] = [newKey(), newKey(), newKey(), newKey(), newKey()];
const releaseRole: RoleKeys = { keys: publics([release]), threshold: 1 };
const bundleRole: RoleKeys = { keys: publics([scheduler, approver]), threshold: 2 };

const subjects = [
  { name: 'revocations', digest: digestOf('revocations') },
  { name: 'bundle', digest: digestOf('bundle') },
];
const predicate = { version: 7, critical: [] };
const payload = encodeStatement(subjects, PREDICATES.release, predicate);
const signed = await signPayload(payload, release);

const verify = (envelopes: readonly Uint8Array[], role = releaseRole, type: string = PREDICATES.release) =>
  verifyStatement(envelopes, role, type, 'release statement');
const refusalOf = (...args: Parameters<typeof verify>) => refusal(() => verify(...args));

/** The payload of a signed bundle replaced, its signature kept. */
const withPayload = (bytes: Buffer, other: Buffer): Buffer => {
  const json = JSON.parse(bytes.toString());
  json.dsseEnvelope.payload = other.toString('base64');
  return Buffer.from(JSON.stringify(json));
};

describe('a statement', () => {
  it('is canonical JSON of an in-toto Statement v1 with sorted subjects', () => {
    expect(encodeStatement(subjects.toReversed(), PREDICATES.release, predicate)).toEqual(payload);
    expect(payload.toString()).toBe(
      `{"_type":"https://in-toto.io/Statement/v1","predicate":{"critical":[],"version":7},` +
        `"predicateType":"urn:fleet-ferry:release:v1","subject":[` +
        `{"digest":{"sha256":"${digestOf('bundle').slice(7)}"},"name":"bundle"},` +
        `{"digest":{"sha256":"${digestOf('revocations').slice(7)}"},"name":"revocations"}]}`,
    );
  });

  it('M1 signed by its role is accepted, every time', () => {
    const verified = verify([signed]);
    expect(verified).toEqual({
      payload,
      digest: digestOf(payload),
      subjects: subjects.toReversed(),
      predicate,
      signers: [release.public.hint],
    });
    expect(verify([signed])).toEqual(verified);
  });

  it('M1 with a threshold of two is accepted with both signatures, in any order', async () => {
    const both = [await signPayload(payload, scheduler), await signPayload(payload, approver)];
    const signers = [scheduler.public.hint, approver.public.hint].toSorted();
    expect(verify(both, bundleRole).signers.toSorted()).toEqual(signers);
    expect(verify(both.toReversed(), bundleRole)).toEqual(verify(both, bundleRole));
  });

  it('is not encoded without a subject, or with two digests for one name: SCHEMA', () => {
    const twice = [...subjects, { name: 'bundle', digest: digestOf('other') }];
    expect(refusal(() => encodeStatement([], PREDICATES.release, {}))).toBe('SCHEMA');
    expect(refusal(() => encodeStatement(twice, PREDICATES.release, {}))).toBe('SCHEMA');
  });
});

describe('who signed', () => {
  it('M2 refuses a statement without a signature', () => {
    expect(refusalOf([])).toBe('UNSIGNED');
  });

  it('M3 refuses the signature of an unknown key', async () => {
    expect(refusalOf([await signPayload(payload, stranger)])).toBe('UNKNOWN_KEY');
  });

  it('M4 refuses an unknown key under a trusted hint', async () => {
    const borrowed: SigningKey = { public: release.public, sign: stranger.sign };
    expect(refusalOf([await signPayload(payload, borrowed)])).toBe('BAD_SIGNATURE');
  });

  it('M5 refuses a payload edited after signing', () => {
    const edited = Buffer.from(payload.toString().replace('"version":7', '"version":8'));
    expect(refusalOf([withPayload(signed, edited)])).toBe('BAD_SIGNATURE');
  });

  it('M5 parses nothing of a payload whose signature is bad', () => {
    expect(refusalOf([withPayload(signed, Buffer.from('{"a":1,"a":2}'))])).toBe('BAD_SIGNATURE');
  });

  it('M6 refuses the lease key for a release', async () => {
    expect(refusalOf([await signPayload(payload, lease)])).toBe('UNKNOWN_KEY');
  });

  it('M6 refuses the release key for a bundle', () => {
    expect(refusalOf([signed], bundleRole)).toBe('UNKNOWN_KEY');
  });

  it('M7 refuses one of two signers', async () => {
    expect(refusalOf([await signPayload(payload, scheduler)], bundleRole)).toBe('THRESHOLD');
  });

  it('M7 counts the same signer once', async () => {
    const twice = [await signPayload(payload, scheduler), await signPayload(payload, scheduler)];
    expect(refusalOf(twice, bundleRole)).toBe('THRESHOLD');
  });

  it('M8 refuses two signers of different bytes', async () => {
    const other = encodeStatement(subjects, PREDICATES.release, { version: 8, critical: [] });
    const split = [await signPayload(payload, scheduler), await signPayload(other, approver)];
    expect(refusalOf(split, bundleRole)).toBe('PAYLOAD_MISMATCH');
  });

  it('refuses a bad signature beside enough good ones', async () => {
    const role = { ...bundleRole, threshold: 1 };
    const good = await signPayload(payload, scheduler);
    const bad = await signPayload(payload, { public: approver.public, sign: stranger.sign });
    expect(refusalOf([good, bad], role)).toBe('BAD_SIGNATURE');
  });

  it('refuses a threshold that is not a number: THRESHOLD', () => {
    expect(refusalOf([signed], { ...releaseRole, threshold: Number.NaN })).toBe('THRESHOLD');
  });

  it('M38 refuses more than sixteen files without reading them', () => {
    expect(refusalOf(Array(17).fill(signed))).toBe('TOO_MANY');
    expect(refusalOf(Array(4096).fill(Buffer.alloc(0)))).toBe('TOO_MANY');
  });
});

describe('what was signed', () => {
  const refusalOfSigned = async (text: string) => refusalOf([await signPayload(Buffer.from(text), release)]);
  const statement = JSON.parse(payload.toString());

  it('M10 refuses a bundle statement as a release, with the right key', async () => {
    const bundle = encodeStatement(subjects, PREDICATES.bundle, {});
    expect(refusalOf([await signPayload(bundle, release)])).toBe('PREDICATE_TYPE');
  });

  it('M39 refuses a signed payload that is nested 9,000 deep, repeats a key or is truncated', async () => {
    const deep = `${'['.repeat(9000)}${']'.repeat(9000)}`;
    expect(await refusalOfSigned(`{"predicate":${deep}}`)).toBe('TOO_DEEP');
    expect(await refusalOfSigned('{"predicateType":"a","predicateType":"b"}')).toBe('BAD_JSON');
    expect(await refusalOfSigned('{"predicate":')).toBe('BAD_JSON');
  });

  it.each([
    ['is another type of document', { ...statement, _type: 'https://in-toto.io/Statement/v0.1' }],
    ['has no predicate type', { ...statement, predicateType: undefined }],
    ['has no subjects', { ...statement, subject: undefined }],
    ['has an empty list of subjects', { ...statement, subject: [] }],
    ['has a subject without a name', { ...statement, subject: [{ digest: statement.subject[0].digest }] }],
    ['has a subject by another algorithm', { ...statement, subject: [{ name: 'a', digest: { md5: 'b' } }] }],
    ['has a short digest', { ...statement, subject: [{ name: 'a', digest: { sha256: 'abc' } }] }],
    ['has a name twice', { ...statement, subject: [statement.subject[0], statement.subject[0]] }],
    ['is a list', []],
  ])('refuses a signed payload that %s', async (_why, json) => {
    expect(await refusalOfSigned(JSON.stringify(json))).toBe('SCHEMA');
  });

  it('accepts unknown later fields in the statement and in a subject', async () => {
    const [first] = statement.subject;
    const later = { ...statement, later: 1, subject: [{ ...first, later: 2 }] };
    const bytes = await signPayload(Buffer.from(JSON.stringify(later)), release);
    expect(verify([bytes]).subjects.map(({ digest }): Digest => digest)).toEqual([digestOf('bundle')]);
  });
});

describe('a valid statement with one change', () => {
  it('is refused, for any changed byte', () => {
    fc.assert(
      fc.property(flippedByte(signed), (changed) => {
        expect(refusalOf([changed])).toBeDefined();
      }),
      { numRuns: runs(1000) },
    );
  });

  it('is refused, for any replaced value, unless it is the same statement', () => {
    fc.assert(
      fc.property(replacedValue(JSON.parse(signed.toString())), (changed) => {
        if (refusalOf([changed]) === undefined) expect(verify([changed])).toEqual(verify([signed]));
      }),
      { numRuns: runs(500) },
    );
  });
});
