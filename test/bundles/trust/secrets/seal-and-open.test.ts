import { Encrypter } from 'age-encryption';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type ErrorCode, FleetError, formatError } from '#bundles/errors';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { MAX_SEALED_BYTES, type SecretSet } from '#bundles/trust/secrets/secret-set';

const SECRET = 'correct horse battery staple';
const set: SecretSet = {
  fleet: 'acme',
  site: 'plant-7',
  name: 'mqtt',
  version: 3,
  values: { password: Buffer.from(SECRET).toString('base64'), 'ca.crt': '', _x: 'AA==' },
};
const address = { fleet: 'acme', site: 'plant-7', name: 'mqtt' };

let mine: AgeIdentity;
let other: AgeIdentity;
let sealed: Buffer;

beforeAll(async () => {
  mine = await generateAgeIdentity();
  other = await generateAgeIdentity();
  sealed = await sealSecretSet(set, [mine.recipient]);
});

const refusal = async (work: () => Promise<unknown>): Promise<FleetError> => {
  const error: unknown = await work().catch((thrown: unknown) => thrown);
  if (error instanceof FleetError) return error;
  throw new Error('it was not refused');
};

const sealText = async (plain: string | Uint8Array): Promise<Uint8Array> => {
  const encrypter = new Encrypter();
  encrypter.addRecipient(mine.recipient);
  return encrypter.encrypt(plain);
};

test('openSecretSet opens a sealed set for its recipient, and the sealed file contains no plain value', async () => {
  expect(await openSecretSet(sealed, mine.identity, address)).toEqual(set);
  expect(sealed.includes(SECRET)).toBe(false);
  expect(sealed.includes(set.values['password'] ?? '')).toBe(false);
  expect(sealed.includes('plant-7')).toBe(false);
});

test('a set sealed to two recipients is opened by either, and an agent tries each of its identities', async () => {
  const both = await sealSecretSet(set, [mine.recipient, other.recipient, mine.recipient]);
  expect(both.toString('latin1').match(/-> X25519 /g)).toHaveLength(2);
  expect(await openSecretSet(both, mine.identity, address)).toEqual(set);
  expect(await openSecretSet(both, [other.identity], address)).toEqual(set);
  expect(await openSecretSet(sealed, [other.identity, mine.identity], address)).toEqual(set);
});

test('sealing the same set twice gives two different files', async () => {
  expect((await sealSecretSet(set, [mine.recipient])).equals(sealed)).toBe(false);
});

describe('openSecretSet refuses a set', () => {
  const cases: readonly (readonly [string, Partial<typeof address>, ErrorCode])[] = [
    ['at another site', { site: 'plant-8' }, 'WRONG_SITE'],
    ['in another fleet', { fleet: 'rival' }, 'WRONG_FLEET'],
    ['under another name', { name: 'vpn' }, 'SUBJECT_MISMATCH'],
  ];
  it.each(cases)('%s', async (_, wrong, code) => {
    const error = await refusal(() => openSecretSet(sealed, mine.identity, { ...address, ...wrong }));
    expect(error.code).toBe(code);
  });

  it("for another identity than a recipient's: SECRET_UNREADABLE", async () => {
    const error = await refusal(() => openSecretSet(sealed, other.identity, address));
    expect(error).toMatchObject({ code: 'SECRET_UNREADABLE', message: expect.stringContaining('to others') });
  });

  it('with any byte changed, or truncated', async () => {
    const flipped = Buffer.from(sealed);
    flipped[sealed.length - 5] = (flipped[sealed.length - 5] ?? 0) ^ 1;
    for (const bad of [flipped, sealed.subarray(0, -1), sealed.subarray(0, 40), Buffer.from('age?')]) {
      const error = await refusal(() => openSecretSet(bad, mine.identity, address));
      expect(error).toMatchObject({ code: 'SECRET_UNREADABLE', message: expect.stringContaining('damaged') });
    }
  });

  it('above the size limit, before it decrypts anything: TOO_LARGE', async () => {
    const error = await refusal(() => openSecretSet(Buffer.alloc(MAX_SEALED_BYTES + 1), 'none', address));
    expect(error.code).toBe('TOO_LARGE');
  });

  it('with an invalid identity, and does not repeat it in the error', async () => {
    const error = await refusal(() => openSecretSet(sealed, `${mine.identity}X`, address));
    expect(error.code).toBe('KEY_FORMAT');
    expect(formatError(error)).not.toContain(mine.identity.slice(15));
  });
});

describe('openSecretSet of other content in an age file', () => {
  const good = { ...set };
  const cases: readonly (readonly [string, string | Uint8Array])[] = [
    ['text that is not JSON', `password=${SECRET}`],
    ['JSON cut off within a value', `{"values":{"a":"${SECRET}`],
    ['a list', canonicalBytes([SECRET])],
    ['no values', canonicalBytes({ ...good, values: null })],
    ['values that are not base64', canonicalBytes({ ...good, values: { password: SECRET } })],
    ['a key that leaves its folder', canonicalBytes({ ...good, values: { '..': '' } })],
    ['a key with a slash', canonicalBytes({ ...good, values: { [`a/${SECRET}`]: '' } })],
    ['version 0', canonicalBytes({ ...good, version: 0 })],
    ['two keys of one name', `{"fleet":"acme","fleet":"acme","name":"mqtt","note":"${SECRET}"}`],
    ['bytes that are no text', Buffer.from([0xff, 0xfe])],
  ];
  it.each(cases)('refuses %s, and does not quote it', async (_, plain) => {
    const error = await refusal(async () => openSecretSet(await sealText(plain), mine.identity, address));
    expect(error.code).toBe('SECRET_UNREADABLE');
    for (const text of [formatError(error), String(error.stack), JSON.stringify(error.cause ?? '')])
      expect(text).not.toContain('correct horse');
    expect(error.cause).toBeUndefined();
  });
});

describe('sealSecretSet refuses', () => {
  it('no recipients: RECIPIENT_MISSING', async () => {
    expect((await refusal(() => sealSecretSet(set, []))).code).toBe('RECIPIENT_MISSING');
  });

  it('a set above one megabyte', async () => {
    const values = { big: Buffer.alloc(MAX_SEALED_BYTES).toString('base64') };
    expect((await refusal(() => sealSecretSet({ ...set, values }, [mine.recipient]))).code).toBe('TOO_LARGE');
  });

  it('a set that readers would refuse', async () => {
    const values = { 'no key': '' };
    expect((await refusal(() => sealSecretSet({ ...set, values }, [mine.recipient]))).code).toBe(
      'SECRET_UNREADABLE',
    );
  });
});
