import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { describeWith } from '../../harness/run/describe-with.ts';
import { pkcs11Paths } from '../../harness/parts/pkcs11.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PROGRAM = programFile('scheduler');
const PAGE = join(import.meta.dirname, '../../..', 'docs', 'ceremonies.md');
const PIN = '123456';

/** The blocks of the page about tokens: the script that signs, and how the key gets there. */
const blocks = [...(await readFile(PAGE, 'utf8')).matchAll(/^```bash\n([\s\S]*?)^```/gm)].map(
  ([, block = '']) => block,
);

describeWith(['pkcs11'], 'an officer whose key is in a PKCS#11 token', ({ pkcs11 }) => {
  const withToken = async () => {
    const folder = await temporaryDirectory('token');
    const at = (name: string): string => join(folder.path, name);
    const { tool, softhsm, module, libraries } = pkcs11Paths(pkcs11);
    await mkdir(at('tokens'));
    await writeFile(at('softhsm2.conf'), `directories.tokendir = ${at('tokens')}\n`);
    const env = {
      HOME: folder.path,
      PATH: [dirname(tool), process.env['PATH']].join(delimiter),
      LD_LIBRARY_PATH: libraries,
      SOFTHSM2_CONF: at('softhsm2.conf'),
      TOKEN_MODULE: module,
      TOKEN_PIN: PIN,
    };
    const run = (...argv: readonly string[]) => runOrFail(argv, { cwd: folder.path, env });
    const init = ['--init-token', '--free', '--label', 'ada', '--so-pin', PIN, '--pin', PIN];
    await run(softhsm, '--module', module, ...init);
    const [script = '', make = ''] = blocks;
    // Nobody is there to type the PIN.
    await run('sh', '-euc', make.replaceAll('--login', '--login --pin env:TOKEN_PIN'));
    await writeFile(at('sign-with-token'), script);
    await writeFile(at('token.yaml'), 'command: [sh, sign-with-token]\npublic: eve.pub\n', { mode: 0o600 });
    return { path: folder.path, at, run, env, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  };

  it('signs a root by the script of the page', async () => {
    await using it = await withToken();
    const scheduler = (...words: readonly string[]) => it.run(process.execPath, PROGRAM, ...words);
    const names = ['ben', 'bundle', 'release', 'lease', 'receipt', 'audit'];
    for (const name of names) {
      const pem = generatePrivateKey();
      await writeFile(it.at(`${name}.key`), pem, { mode: 0o600 });
      await writeFile(it.at(`${name}.pub`), loadSigningKey(pem).public.pem);
    }
    const roles = names.slice(1).flatMap((name) => [`--${name}`, `${name}.pub`]);
    await scheduler(
      'root',
      'init',
      '--fleet',
      'acme',
      '--officer',
      'eve.pub',
      '--officer',
      'ben.pub',
      ...roles,
    );
    await scheduler('root', 'sign', '1.root.json', '--key', 'token.yaml', '--yes');
    await scheduler('root', 'sign', '1.root.json', '--key', 'ben.key', '--yes');
    const { stdout } = await scheduler('root', 'verify', '1.root.json');
    expect(stdout).toContain('verified up to root 1 of fleet acme');
  });

  it('I19: a token with a wrong PIN, a removed one, or a session that is cut signs nothing and changes nothing', async () => {
    await using it = await withToken();
    const sign = (env: Readonly<Record<string, string>> = {}) =>
      runCommand([process.execPath, PROGRAM, 'root', 'sign', '1.root.json', '--key', 'token.yaml', '--yes'], {
        cwd: it.path,
        env: { ...it.env, ...env },
      });
    const pem = generatePrivateKey();
    await writeFile(it.at('ben.pub'), loadSigningKey(pem).public.pem);
    for (const name of ['bundle', 'release', 'lease', 'receipt', 'audit'])
      await writeFile(it.at(`${name}.pub`), loadSigningKey(generatePrivateKey()).public.pem);
    const roles = ['bundle', 'release', 'lease', 'receipt', 'audit'].flatMap((role) => [
      `--${role}`,
      `${role}.pub`,
    ]);
    const officers = ['--officer', 'eve.pub', '--officer', 'ben.pub'];
    await it.run(process.execPath, PROGRAM, 'root', 'init', '--fleet', 'acme', ...officers, ...roles);
    const draft = await readFile(it.at('1.root.json'));
    const refused = async (outcome: ReturnType<typeof sign>): Promise<string> => {
      const { code, stdout, stderr } = await outcome;
      expect(code).not.toBe(0);
      expect(/SIGN_FAILED/.exec(stderr)?.[0]).toBe('SIGN_FAILED');
      for (const text of [stdout, stderr]) for (const pin of [PIN, '999999']) expect(text).not.toContain(pin);
      expect(await readFile(it.at('1.root.json'))).toEqual(draft);
      return stderr;
    };
    expect(await refused(sign({ TOKEN_PIN: '999999' }))).toMatch(/SIGN_FAILED: the signing command .*PIN/i);
    const script = await readFile(it.at('sign-with-token'), 'utf8');
    await rename(it.at('tokens'), it.at('pulled'));
    await mkdir(it.at('tokens'));
    await refused(sign());
    await rm(it.at('tokens'), { recursive: true });
    await rename(it.at('pulled'), it.at('tokens'));
    // The session ends while the tool signs: killed, and with half of a signature.
    await writeFile(it.at('sign-with-token'), `( ${script}\n) & kill -9 $!; wait $!`);
    await refused(sign());
    await writeFile(it.at('sign-with-token'), `( ${script}\n) | head -c 20`);
    await refused(sign());
    await writeFile(it.at('sign-with-token'), script);
    expect((await sign()).code).toBe(0);
  });
});
