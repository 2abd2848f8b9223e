import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openKeyFile, readKeyText } from '#bundles/trust/keys/open-key-file';
import type { Passwords } from '#bundles/trust/keys/passwords';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import { loadSigningKey } from '#bundles/trust/keys/key';
import { AGENT_CA } from '../root/fixtures.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { LOCKED_KEY as encrypted, P384_PRIVATE, PLAIN_KEY as pem } from './fixtures.ts';

const { hint } = loadSigningKey(pem).public;

const answers = (
  typed: boolean,
  ...words: readonly string[]
): Passwords & { readonly left: () => number } => {
  const rest = [...words];
  return {
    typed,
    left: () => rest.length,
    open: async () => rest.shift() ?? '',
    choose: async () => rest.shift() ?? '',
  };
};

const withKey = async (text: string, mode = 0o600) => {
  const folder = await temporaryDirectory('key');
  const file = join(folder.path, 'ada.key');
  await writeFile(file, text);
  await chmod(file, mode);
  const open = (passwords = answers(false)) => openKeyFile(file, { what: 'release key' }, passwords);
  return { file, open, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

describe('a private key file', () => {
  it('opens plain and encrypted, as the same key', async () => {
    await using plain = await withKey(pem);
    await using closed = await withKey(encrypted, 0o644);
    expect((await plain.open()).public.hint).toBe(hint);
    expect((await closed.open(answers(false, 'correct horse'))).public.hint).toBe(hint);
  });

  it('that is plain is refused when others can read or change it, and accepted when the group can read it', async () => {
    for (const mode of [0o644, 0o604, 0o660, 0o622, 0o601]) {
      await using made = await withKey(pem, mode);
      await expect(made.open()).rejects.toMatchObject({
        code: 'PERMISSION',
        at: { file: made.file },
        hint: expect.stringContaining('chmod 600'),
      });
      expect((await readKeyText(made.file, { what: 'key' }, true)).encrypted).toBe(false);
    }
    await using service = await withKey(pem, 0o640);
    expect((await service.open()).public.hint).toBe(hint);
  });

  it('reports a public key or certificate as such, and does not warn about its permissions', async () => {
    await using made = await withKey(loadSigningKey(pem).public.pem, 0o644);
    await expect(made.open()).rejects.toMatchObject({
      code: 'KEY_FORMAT',
      message: 'this is a public key, which cannot sign',
      at: { file: made.file },
    });
    await using authority = await withKey(AGENT_CA, 0o644);
    await expect(authority.open()).rejects.toThrow('this is a certificate, which cannot sign');
  });

  it.each([
    ['two characters at each line end', (text: string) => text.replaceAll('\n', '\r\n')],
    ['a byte order mark', (text: string) => `\uFEFF${text}`],
  ])('is accepted after an editor that leaves %s', async (_, edit) => {
    await using plain = await withKey(edit(pem));
    expect((await plain.open()).public.hint).toBe(hint);
    await using closed = await withKey(edit(encrypted), 0o644);
    expect((await closed.open(answers(false, 'correct horse'))).public.hint).toBe(hint);
    await using open = await withKey(edit(loadSigningKey(pem).public.pem), 0o644);
    expect((await readPublicFile(open.file)).hint).toBe(hint);
    expect((await readPublicFile(open.file)).pem).toBe(loadSigningKey(pem).public.pem);
  });

  it('allows a person three password attempts, and a script one', async () => {
    await using made = await withKey(encrypted);
    const person = answers(true, 'wrong', 'wronger', 'correct horse');
    expect((await made.open(person)).public.hint).toBe(hint);
    const clumsy = answers(true, 'a', 'b', 'c', 'correct horse');
    await expect(made.open(clumsy)).rejects.toMatchObject({ code: 'KEY_LOCKED', at: { file: made.file } });
    expect(clumsy.left()).toBe(1);
    const script = answers(false, 'wrong', 'correct horse');
    await expect(made.open(script)).rejects.toMatchObject({ code: 'KEY_LOCKED' });
    expect(script.left()).toBe(1);
  }, 60_000);

  it.each([
    ['nothing', ''],
    ['a public key', loadSigningKey(pem).public.pem],
    ['a key of another curve', P384_PRIVATE],
    ['a book', 'x'.repeat(70_000)],
  ])('that is %s is refused with its path: KEY_FORMAT', async (_what, text) => {
    await using made = await withKey(text);
    await expect(made.open()).rejects.toMatchObject({ code: 'KEY_FORMAT', at: { file: made.file } });
  });

  it("that is missing is reported with the caller's hint: KEY_MISSING", async () => {
    const asked = { what: 'release key', hint: 'Look in the safe' };
    await expect(openKeyFile('/nowhere/release.key', asked, answers(false))).rejects.toMatchObject({
      code: 'KEY_MISSING',
      message: 'there is no release key at /nowhere/release.key',
      hint: 'Look in the safe',
    });
  });
});
