import { randomBytes } from 'node:crypto';
import { Decrypter, Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { createDecrypter } from '#bundles/trust/age/decrypter';
import { generateAgeIdentity } from '#bundles/trust/age/recipient';

const base64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '');
const stanza = (share = randomBytes(32), body = randomBytes(32)): string =>
  `-> X25519 ${base64(share)}\n${base64(body)}\n`;
const header = (...lines: readonly string[]): Buffer =>
  Buffer.from(`age-encryption.org/v1\n${lines.join('')}--- ${base64(randomBytes(32))}\n`);

it('opens what the age library sealed, among other recipients, as the library does', async () => {
  for (let round = 0; round < 20; round++) {
    const { identity, recipient } = await generateAgeIdentity();
    const encrypter = new Encrypter();
    for (const one of [await identityToRecipient(await generateX25519Identity()), recipient])
      encrypter.addRecipient(one);
    const sealed = await encrypter.encrypt('text');
    expect(await (await createDecrypter([identity])).decrypt(sealed, 'text')).toBe('text');
    const library = new Decrypter();
    library.addIdentity(identity);
    expect(await library.decrypt(sealed, 'text')).toBe('text');
    const [other] = [await generateX25519Identity()];
    await expect((await createDecrypter([other])).decrypt(sealed)).rejects.toThrow(/no identity matched/);
  }
});

it.each([
  ['a share of small order', stanza(Buffer.alloc(32))],
  ['a short share', stanza(randomBytes(31))],
  ['a short body', stanza(randomBytes(32), randomBytes(31))],
  ['a second argument', `-> X25519 ${base64(randomBytes(32))} x\n${base64(randomBytes(32))}\n`],
])('refuses a header with %s', async (_, line) => {
  const { identity } = await generateAgeIdentity();
  await expect((await createDecrypter([identity])).decryptHeader(header(line))).rejects.toThrow();
});

it('P17: tries a header of a megabyte of recipients within seconds -> ACCEPT', async () => {
  const { identity } = await generateAgeIdentity();
  const lines = Array.from({ length: 10_000 }, () => stanza());
  const decrypter = await createDecrypter([identity]);
  const started = process.cpuUsage();
  await expect(decrypter.decryptHeader(header(...lines))).rejects.toThrow(/no identity matched/);
  const { user, system } = process.cpuUsage(started);
  // The library takes ten seconds of this machine.
  expect((user + system) / 1e6 < 5 ? 'ACCEPT' : 'too slow').toBe('ACCEPT');
});
