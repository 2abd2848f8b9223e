import { Encrypter } from 'age-encryption';
import { expect, test } from 'vitest';
import {
  generateAgeIdentity,
  isRecipient,
  isSignedRecipient,
  parseRecipient,
  recipientOf,
  signRecipient,
} from '#bundles/trust/age/recipient';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';

const owner = { fleet: 'acme', site: 'plant-7', agent: 'press-1' };

test('recipientOf returns the recipient of a generated identity', async () => {
  const { identity, recipient } = await generateAgeIdentity();
  expect(isRecipient(recipient)).toBe(true);
  expect(await recipientOf(identity)).toBe(recipient);
});

test('isRecipient and parseRecipient refuse a recipient with a typing error: KEY_FORMAT', async () => {
  const { recipient, identity } = await generateAgeIdentity();
  const slip = recipient.slice(0, -1) + (recipient.endsWith('q') ? 'p' : 'q');
  for (const wrong of [slip, recipient.slice(0, -1), `${recipient}q`, recipient.toUpperCase(), identity, ''])
    expect(isRecipient(wrong)).toBe(false);
  expect(() => parseRecipient(slip, 'the escrow')).toThrow(expect.objectContaining({ code: 'KEY_FORMAT' }));
  expect(parseRecipient(recipient, 'the escrow')).toBe(recipient);
  await expect(recipientOf(recipient)).rejects.toMatchObject({ code: 'KEY_FORMAT' });
});

test('isRecipient finds every one-letter typing error that age finds', async () => {
  const { recipient } = await generateAgeIdentity();
  const verdictOfAge = (text: string): boolean => {
    try {
      new Encrypter().addRecipient(text);
      return true;
    } catch {
      return false;
    }
  };
  for (let at = 4; at < recipient.length; at++) {
    for (const letter of 'qpzry9x8gf2tvdw0s3jn54khce6mua7l') {
      const text = recipient.slice(0, at) + letter + recipient.slice(at + 1);
      if (isRecipient(text) !== (text === recipient)) throw new Error(text);
    }
  }
  for (let at = 0; at < 20; at++) {
    const { recipient: other } = await generateAgeIdentity();
    expect([isRecipient(other), verdictOfAge(other)]).toEqual([true, true]);
    const changed = other.slice(0, 20) + (other[20] === 'q' ? 'p' : 'q') + other.slice(21);
    expect([isRecipient(changed), verdictOfAge(changed)]).toEqual([false, false]);
  }
});

test('sealing to the zero point, whose shared secret is public, is refused: KEY_FORMAT', async () => {
  // The recipient whose 32 bytes are all zero.
  const found = `age1${'q'.repeat(52)}5cu47z`;
  expect(isRecipient(found)).toBe(true);
  const set = { fleet: 'acme', site: 'plant-7', name: 'mqtt', version: 1, values: {} };
  await expect(sealSecretSet(set, [found])).rejects.toMatchObject({ code: 'KEY_FORMAT' });
});

test("isSignedRecipient accepts an agent's own claim, and refuses another agent, recipient, time or key", async () => {
  const key = newSigningKey();
  const [mine, theirs] = [await generateAgeIdentity(), await generateAgeIdentity()];
  const claim = { ...owner, recipient: mine.recipient, at: '2026-11-21T08:00:00Z' };
  const signature = await signRecipient(claim, key);
  expect(isSignedRecipient(claim, signature, key.public)).toBe(true);
  for (const other of [
    { recipient: theirs.recipient },
    { at: '2026-11-21T08:00:01Z' },
    { site: 'plant-8' },
    { agent: 'press-2' },
    { fleet: 'rival' },
  ])
    expect(isSignedRecipient({ ...claim, ...other }, signature, key.public)).toBe(false);
  expect(isSignedRecipient(claim, signature, newSigningKey().public)).toBe(false);
  expect(isSignedRecipient(claim, '', key.public)).toBe(false);
  expect(isSignedRecipient(claim, 'AAAA', key.public)).toBe(false);
});
