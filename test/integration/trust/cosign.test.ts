import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement, verifyStatement } from '#bundles/trust/statements/verify-statement';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Outcome, runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describeWith(['cosign'], 'cosign, the stock verifier and a second signer', ({ cosign }) => {
  const scheduler = loadSigningKey(generatePrivateKey());
  const approverPem = generatePrivateKey();
  const approver = loadSigningKey(approverPem);
  const stranger = loadSigningKey(generatePrivateKey());
  const digest = digestOf('a bundle manifest');
  const payload = encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, { fleet: 'acme' });

  let folder: TemporaryDirectory;
  const at = (name: string) => join(folder.path, name);
  // A home of its own: nothing cached from a network, nothing left behind.
  const options = () => ({
    cwd: folder.path,
    env: { PATH: process.env['PATH'], HOME: folder.path, COSIGN_PASSWORD: 'officer' },
  });
  const run = (words: string) => runOrFail([cosign, ...words.split(' ')], options());

  beforeAll(async () => {
    folder = await temporaryDirectory('cosign');
    await writeFile(at('scheduler.pub'), scheduler.public.pem);
    await writeFile(at('stranger.pub'), stranger.public.pem);
    await writeFile(at('ours.json'), await signPayload(payload, scheduler));
    await writeFile(at('statement.json'), payload);
    await writeFile(at('approver.pem'), approverPem, { mode: 0o600 });
    // Two empty files: without them cosign asks the public services where to log and whom to trust.
    await run('signing-config create --out services.json');
    await run('trusted-root create --out authorities.json');
    await run('import-key-pair --key approver.pem --output-key-prefix approver');
    const services = '--signing-config services.json --trusted-root authorities.json';
    const files = '--statement statement.json --bundle theirs.json';
    await run(`attest-blob --key approver.key --yes ${services} ${files}`);
  });

  afterAll(() => folder?.[Symbol.asyncDispose]());

  type Question = {
    readonly key?: string;
    readonly type?: string;
    readonly hex?: string;
    readonly file?: string;
  };

  const ask = (question: Question): Promise<Outcome> => {
    const {
      key = 'scheduler.pub',
      type = PREDICATES.bundle,
      hex = hexOf(digest),
      file = 'ours.json',
    } = question;
    const claim = `--type ${type} --digest ${hex} --digestAlg sha256`;
    const words = `verify-blob-attestation --insecure-ignore-tlog --key ${key} ${claim} --bundle ${file}`;
    return runCommand([cosign, ...words.split(' ')], options());
  };

  it('verifies our statement with our public key', async () => {
    const { code, stderr } = await ask({});
    expect(stderr).toContain('Verified OK');
    expect(code).toBe(0);
  });

  it('refuses our statement for another key, digest or predicate type', async () => {
    expect((await ask({ key: 'stranger.pub' })).code).not.toBe(0);
    expect((await ask({ hex: hexOf(digestOf('another manifest')) })).code).not.toBe(0);
    expect((await ask({ type: PREDICATES.release })).code).not.toBe(0);
  });

  it('refuses our statement when one byte of it was changed', async () => {
    const json = JSON.parse(await readFile(at('ours.json'), 'utf8'));
    const edited = Buffer.from(payload.toString().replace('acme', 'acne'));
    json.dsseEnvelope.payload = edited.toString('base64');
    await writeFile(at('edited.json'), JSON.stringify(json));
    expect((await ask({ file: 'edited.json' })).code).not.toBe(0);
  });

  it('signs the bytes of our statement as an officer, which counts as two of two', async () => {
    const role = { keys: [scheduler.public, approver.public], threshold: 2 };
    const [ours, theirs] = await Promise.all([readFile(at('ours.json')), readFile(at('theirs.json'))]);
    const statement = verifyStatement([ours, theirs], role, PREDICATES.bundle, 'bundle statement');
    expect(statement.payload.equals(payload)).toBe(true);
    expect(statement.signers.toSorted()).toEqual(role.keys.map(({ hint }) => hint).toSorted());
  });

  it('has the same key hint for its key pair as we do', async () => {
    expect(await readFile(at('approver.pub'), 'utf8')).toBe(approver.public.pem);
    const { code } = await ask({ key: 'approver.pub', file: 'theirs.json' });
    expect(code).toBe(0);
  });
});
