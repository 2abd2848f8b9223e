import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey, verifySignature } from '#bundles/trust/keys/key';
import { commandKey } from '../../../../scheduler/keys/places/signing-command.ts';
import { findProgram } from '../../../harness/run/find-program.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const pem = generatePrivateKey();
const key = loadSigningKey(pem);
const other = loadSigningKey(generatePrivateKey());
const BYTES = Buffer.from('the payload to sign');

const withFolder = async () => {
  const folder = await temporaryDirectory('command');
  await writeFile(join(folder.path, 'hsm.pem'), pem, { mode: 0o600 });
  const open = (command: readonly string[], timeoutMs = 10_000) =>
    commandKey({ command, timeoutMs, cwd: folder.path, what: 'release key', public: key.public });
  const shell = (script: string, timeoutMs?: number) => open(['sh', '-c', script], timeoutMs);
  return { open, shell, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
};

describe.skipIf(!findProgram('openssl'))('a key that openssl signs with', () => {
  it('signs, with its signature in DER or in base64', async () => {
    await using made = await withFolder();
    const raw = made.open(['openssl', 'dgst', '-sha256', '-sign', 'hsm.pem']);
    expect(verifySignature(key.public, BYTES, await raw.sign(BYTES))).toBe(true);
    const text = made.shell('openssl dgst -sha256 -sign hsm.pem | base64 -w 40');
    const signature = await text.sign(BYTES);
    expect(signature[0]).toBe(0x30);
    expect(verifySignature(key.public, BYTES, signature)).toBe(true);
  });

  it('signs by pkeyutl, which takes a hash as hardware tokens do', async () => {
    await using made = await withFolder();
    const hashed = 'openssl dgst -sha256 -binary | openssl pkeyutl -sign -inkey hsm.pem';
    expect(verifySignature(key.public, BYTES, await made.shell(hashed).sign(BYTES))).toBe(true);
  });
});

describe('a signing command', () => {
  it('a signing command that uses another key or signs other bytes is refused', async () => {
    await using made = await withFolder();
    const wrong = (await other.sign(BYTES)).toString('base64');
    const stale = (await key.sign(Buffer.from('another text'))).toString('base64');
    for (const answer of [wrong, stale, 'hello', '']) {
      await expect(made.shell(`cat >/dev/null; echo '${answer}'`).sign(BYTES)).rejects.toMatchObject({
        code: 'SIGN_FAILED',
        message: expect.stringContaining('is not a signature by'),
      });
    }
  });

  it('that fails is reported with its last lines of stderr', async () => {
    await using made = await withFolder();
    await expect(
      made.shell('echo starting >&2; echo no token in slot 0 >&2; exit 3').sign(BYTES),
    ).rejects.toThrow('the signing command of the release key ended with 3: starting; no token in slot 0');
    await expect(made.shell('kill -9 $$').sign(BYTES)).rejects.toThrow('ended with SIGKILL');
    await expect(made.open(['no-such-program']).sign(BYTES)).rejects.toMatchObject({
      code: 'SIGN_FAILED',
      message: 'the signing command of the release key cannot be found: no-such-program',
    });
  });

  it('is stopped at its timeout, also when a child process holds its pipes', async () => {
    await using made = await withFolder();
    const before = Date.now();
    await expect(made.shell('sleep 30 & sleep 30', 300).sign(BYTES)).rejects.toThrow(
      'did not end within 0.3 s',
    );
    expect(Date.now() - before).toBeLessThan(20_000);
  });

  it('with endless output is stopped', async () => {
    await using made = await withFolder();
    await expect(made.shell('yes').sign(BYTES)).rejects.toThrow('writes too much');
  });
});
