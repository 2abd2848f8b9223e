import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { advanceRoot, createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { refusal } from '../../bundles/refusal.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describeWith(['pythonTuf'], 'python-tuf, the reference implementation of TUF', ({ pythonTuf }) => {
  const benPem = generatePrivateKey();
  const newKey = () => loadSigningKey(generatePrivateKey());
  const [ada, ben, cleo, dora] = [newKey(), loadSigningKey(benPem), newKey(), newKey()];
  const online = [newKey().public];

  const make = (version: number, officers: readonly SigningKey[], signers: readonly SigningKey[]) => {
    const root = officers.map((key) => key.public);
    const keys = { root, bundle: online, release: online, lease: online, receipt: online, audit: online };
    return createRoot({ fleet: 'acme', version, expires: new Date('2099-01-01T00:00:00Z'), keys }, signers);
  };

  let folder: TemporaryDirectory;
  const at = (name: string) => join(folder.path, name);
  const script = (name: string, ...files: readonly string[]) =>
    runCommand([pythonTuf, join(import.meta.dirname, 'python-tuf', name), ...files.map(at)]);

  const read = async (name: string) => parseRoot(await readFile(at(name)));

  beforeAll(async () => {
    folder = await temporaryDirectory('python-tuf');
    await writeFile(at('1.json'), await make(1, [ada, ben, cleo], [ada, cleo]));
    await writeFile(at('2.json'), await make(2, [ben, cleo, dora], [ada, ben, cleo]));
    await writeFile(at('3.json'), await make(3, [cleo, dora, ada], [ben, cleo, dora]));
    await writeFile(at('weak.json'), await make(2, [ben, cleo, dora], [ben, dora]));
    await writeFile(at('ben.pem'), benPem);
    await writeFile(at('ada.pub'), ada.public.pem);
    await writeFile(at('ben.pub'), ben.public.pem);
  });

  afterAll(() => folder?.[Symbol.asyncDispose]());

  it('follows our chain of roots to its end', async () => {
    expect(await script('verify-chain.py', '1.json', '2.json', '3.json')).toMatchObject({
      code: 0,
      stdout: '3 acme\n',
    });
  });

  it('refuses what we refuse: too few old officers, and a missing version', async () => {
    const weak = await script('verify-chain.py', '1.json', 'weak.json');
    expect(weak.code).not.toBe(0);
    expect(weak.stderr).toContain('UnsignedMetadataError');
    const jump = await script('verify-chain.py', '1.json', '3.json');
    expect(jump.code).not.toBe(0);
    const [one, ...others] = await Promise.all(['1.json', 'weak.json', '3.json'].map(read));
    expect(others.map((next) => refusal(() => advanceRoot(one as TrustRoot, [next])))).toEqual([
      'ROOT_THRESHOLD_OLD',
      'ROOT_VERSION',
    ]);
  });

  it('signs our draft for an officer, and the signature counts', async () => {
    const draft = await make(2, [ben, cleo, dora], [ada, cleo]);
    await writeFile(at('draft.json'), draft);
    const { code, stdout, stderr } = await script('sign-root.py', 'draft.json', 'ben.pem');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const one = parseRoot(await make(1, [ada, ben, cleo], [ada, cleo]));
    expect(() => parseRoot(draft)).toThrow(/too few/);
    expect(advanceRoot(one, [parseRoot(Buffer.from(stdout))]).version).toBe(2);
  });

  it('verifies our statements by the same DSSE encoding, with the right key only', async () => {
    const subjects = [{ name: 'bundle', digest: digestOf('a bundle manifest') }];
    const payload = encodeStatement(subjects, PREDICATES.bundle, { fleet: 'Grüße' });
    await writeFile(at('statement.json'), await signPayload(payload, ada));
    const right = await script('verify-envelope.py', 'statement.json', 'ada.pub');
    expect(right).toMatchObject({ code: 0, stdout: payload.toString() });
    expect((await script('verify-envelope.py', 'statement.json', 'ben.pub')).code).not.toBe(0);
  });
});
