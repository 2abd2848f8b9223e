import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import type { Terminal } from '#bundles/trust/keys/terminal';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

/** Somebody who types these, one after the other. */
const typing = (...answers: readonly string[]) => {
  const questions: string[] = [];
  const next = async (question: string): Promise<string> => {
    questions.push(question);
    return answers[questions.length - 1] ?? '';
  };
  return { terminal: { ask: next, askHidden: next } satisfies Terminal, questions };
};

const withFile = async (content: string, mode = 0o600) => {
  const folder = await temporaryDirectory('password');
  const file = join(folder.path, 'password');
  await writeFile(file, content);
  await chmod(file, mode);
  return { file, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

describe('the password of a key', () => {
  it('is read from the file first, then from the environment, then from the terminal', async () => {
    await using made = await withFile('from the file\n');
    const env = { FLEET_KEY_PASSWORD: 'ours', COSIGN_PASSWORD: 'of cosign' };
    const { terminal, questions } = typing('typed');
    const asked = { env, terminal };
    expect(await passwordsFrom({ ...asked, file: made.file }).open('x')).toBe('from the file');
    const named = { env: { ...env, FLEET_KEY_PASSWORD_FILE: made.file }, terminal };
    expect(await passwordsFrom(named).open('x')).toBe('from the file');
    expect(await passwordsFrom(asked).open('x')).toBe('ours');
    expect(await passwordsFrom({ env: { COSIGN_PASSWORD: 'of cosign' } }).open('x')).toBe('of cosign');
    expect(questions).toEqual([]);
    expect(await passwordsFrom({ env: {}, terminal }).open('ada.key')).toBe('typed');
    expect(questions).toEqual(['Password of ada.key: ']);
  });

  it('is read from the environment when FLEET_KEY_PASSWORD_FILE is empty', async () => {
    const env = { FLEET_KEY_PASSWORD_FILE: '', FLEET_KEY_PASSWORD: 'ours' };
    expect(await passwordsFrom({ env }).open('x')).toBe('ours');
  });

  it('is KEY_LOCKED with a hint when there is no terminal to ask at', async () => {
    await expect(passwordsFrom({ env: {} }).open('ada.key')).rejects.toMatchObject({
      code: 'KEY_LOCKED',
      message: 'ada.key is encrypted, and there is no password for it',
      hint: expect.stringContaining('--password-file'),
    });
  });

  it('is asked for twice when it is chosen; both must match and have 8 characters', async () => {
    const choose = (...answers: readonly string[]) =>
      passwordsFrom({ env: {}, terminal: typing(...answers).terminal }).choose('ada.key');
    expect(await choose('correct horse', 'correct horse')).toBe('correct horse');
    await expect(choose('correct horse', 'correct house')).rejects.toMatchObject({
      code: 'KEY_LOCKED',
      message: 'the two passwords differ',
    });
    const short = typing('short', 'short');
    await expect(passwordsFrom({ env: {}, terminal: short.terminal }).choose('ada.key')).rejects.toThrow(
      'fewer than 8 characters',
    );
    expect(short.questions).toHaveLength(1);
    await expect(passwordsFrom({ env: {} }).choose('ada.key')).rejects.toThrow(
      'there is no password to encrypt ada.key by',
    );
    await expect(passwordsFrom({ env: { FLEET_KEY_PASSWORD: '' } }).choose('x')).rejects.toThrow(
      'fewer than 8',
    );
  });

  it.each([
    ['is empty', '\n', 0o600, 'KEY_LOCKED'],
    ['has two lines', 'one\ntwo\n', 0o600, 'KEY_LOCKED'],
    ['others can read', 'correct horse\n', 0o644, 'PERMISSION'],
  ])('is not read from a file that %s', async (_why, content, mode, code) => {
    await using made = await withFile(content, mode);
    const { file } = made;
    await expect(passwordsFrom({ file, env: {} }).open('x')).rejects.toMatchObject({ code, at: { file } });
  });

  it('is not read from a missing file', async () => {
    await expect(passwordsFrom({ file: '/nowhere/password', env: {} }).open('x')).rejects.toThrow(
      'there is no password file /nowhere/password',
    );
  });
});
