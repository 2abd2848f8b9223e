import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { openKeyFile } from '#bundles/trust/keys/open-key-file';
import { passwordsFrom } from '#bundles/trust/keys/passwords';
import { protectKey } from '#bundles/trust/keys/protect-key';
import { PREDICATES } from '#bundles/media-types';
import { encodeStatement, verifyStatement } from '#bundles/trust/statements/verify-statement';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PASSWORD = 'correct horse: Grüße';

describeWith(['cosign'], 'encrypted key files of cosign and of Fleet Ferry', ({ cosign }) => {
  const pem = generatePrivateKey();
  const key = loadSigningKey(pem).public;
  let folder: TemporaryDirectory;
  const at = (name: string) => join(folder.path, name);
  const options = (password = PASSWORD) => ({
    cwd: folder.path,
    env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: password },
  });
  const run = (words: string) => runOrFail([cosign, ...words.split(' ')], options());
  const open = (name: string, password = PASSWORD) =>
    openKeyFile(at(name), { what: 'key' }, passwordsFrom({ env: { COSIGN_PASSWORD: password } }));

  beforeAll(async () => {
    folder = await temporaryDirectory('cosign-keys');
    await writeFile(at('ours.key'), protectKey(pem, PASSWORD, 'ours.key'), { mode: 0o600 });
    await writeFile(at('plain.pem'), pem, { mode: 0o600 });
    await run('signing-config create --out services.json');
    await run('trusted-root create --out authorities.json');
  });

  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('of ours are read by cosign, which prints our public key', async () => {
    expect((await run('public-key --key ours.key')).stdout).toBe(key.pem);
    const refused = await runCommand([cosign, 'public-key', '--key', 'ours.key'], options('another'));
    expect(refused.code).not.toBe(0);
  });

  it('of ours sign a statement in cosign, whose signature counts', async () => {
    const digest = digestOf('a bundle manifest');
    const payload = encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, { fleet: 'acme' });
    await writeFile(at('statement.json'), payload);
    const services = '--signing-config services.json --trusted-root authorities.json';
    await run(`attest-blob --key ours.key --yes ${services} --statement statement.json --bundle signed.json`);
    const role = { keys: [key], threshold: 1 };
    const statement = verifyStatement([await readFile(at('signed.json'))], role, PREDICATES.bundle, 'it');
    expect(statement.signers).toEqual([key.hint]);
    const claim = `--type ${PREDICATES.bundle} --digest ${hexOf(digest)} --digestAlg sha256`;
    await writeFile(at('ours.pub'), key.pem);
    await run(`verify-blob-attestation --insecure-ignore-tlog --key ours.pub ${claim} --bundle signed.json`);
  });

  it('of cosign are read by us, with their password only', async () => {
    await run('generate-key-pair --output-key-prefix fresh');
    const fresh = await open('fresh.key');
    expect(fresh.public.pem).toBe(await readFile(at('fresh.pub'), 'utf8'));
    await expect(open('fresh.key', 'another')).rejects.toMatchObject({
      code: 'KEY_LOCKED',
      at: { file: at('fresh.key') },
    });
  });

  it('imported by cosign keep their key', async () => {
    await run('import-key-pair --key plain.pem --output-key-prefix imported');
    expect((await open('imported.key')).public.hint).toBe(key.hint);
  });
});
