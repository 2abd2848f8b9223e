import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { advanceRoot, parseRoot } from '#bundles/trust/root/root';
import RootInit from '../../../scheduler/commands/root/init.ts';
import RootInstall from '../../../scheduler/commands/root/install.ts';
import RootRotate from '../../../scheduler/commands/root/rotate.ts';
import RootSign from '../../../scheduler/commands/root/sign.ts';
import RootVerify from '../../../scheduler/commands/root/verify.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { runCommandClass } from '../../scheduler/commands/run-command-class.ts';

type Command = Parameters<typeof runCommandClass>[0];

const OFFICERS = ['ada', 'ben', 'cleo', 'dora'];

describeWith(['pythonTuf'], 'ceremonies, seen by python-tuf', ({ pythonTuf }) => {
  const withOffice = async () => {
    const folder = await temporaryDirectory('ceremonies');
    const at = (name: string) => join(folder.path, name);
    for (const name of [...OFFICERS, 'online']) {
      const pem = generatePrivateKey();
      await writeFile(at(`${name}.pem`), pem, { mode: 0o600 });
      await writeFile(at(`${name}.pub`), loadSigningKey(pem).public.pem);
    }
    /** Runs a verb; words that begin with @ are files. */
    const run = async (command: Command, words: string) => {
      const argv = words.split(' ').map((word) => word.replace(/@/, `${folder.path}/`));
      const ran = await runCommandClass(command, argv);
      expect({ code: ran.code, said: ran.code === 0 ? '' : ran.err }).toEqual({ code: 0, said: '' });
      return ran;
    };
    const python = (script: string, ...words: readonly string[]) =>
      runCommand([pythonTuf, join(import.meta.dirname, 'python-tuf', script), ...words], {
        cwd: folder.path,
      });
    const sign = (version: number, ...names: readonly string[]) =>
      names.reduce(
        (before, name) => before.then(() => run(RootSign, `@${version}.root.json --key @${name}.pem --yes`)),
        Promise.resolve<unknown>(undefined),
      );
    const chain = (...versions: readonly number[]) =>
      python('verify-chain.py', ...versions.map((version) => `${version}.root.json`));
    return { at, run, python, sign, chain, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() };
  };

  const FIRST =
    '--fleet acme --officer @ada.pub --officer @ben.pub --officer @cleo.pub --bundle @online.pub --release @online.pub --lease @online.pub --receipt @online.pub --audit @online.pub --out @1.root.json';

  it('lead from the first root over a rotation to a lost officer', async () => {
    await using office = await withOffice();
    const { run, sign, chain } = office;
    await run(RootInit, FIRST);
    expect((await chain(1)).code).not.toBe(0);
    await sign(1, 'ada', 'cleo');
    expect(await chain(1)).toMatchObject({ code: 0, stdout: '1 acme\n' });
    await run(RootRotate, '@1.root.json --add release=@dora.pub --out @2.root.json');
    await sign(2, 'ben');
    expect((await chain(1, 2)).code).not.toBe(0);
    await sign(2, 'ada');
    await run(
      RootRotate,
      '@2.root.json --remove officer=@ada.pub --add officer=@dora.pub --out @3.root.json',
    );
    await sign(3, 'ben', 'cleo');
    expect(await chain(1, 2, 3)).toMatchObject({ code: 0, stdout: '3 acme\n' });
    await run(RootVerify, '@1.root.json @2.root.json @3.root.json');
  });

  it('lead from a development root to one of officers, who then sign alone', async () => {
    await using office = await withOffice();
    const { run, sign, chain, at } = office;
    await run(RootInit, '--dev --fleet acme --keys @keys');
    await writeFile(at('1.root.json'), await readFile(at('keys/1.root.json')));
    await run(RootRotate, '@1.root.json --add officer=@ada.pub --add officer=@ben.pub --out @2.root.json');
    await run(RootSign, '@2.root.json --key @keys/root.key --yes');
    expect((await chain(1, 2)).code).not.toBe(0);
    await sign(2, 'ben');
    expect(await chain(1, 2)).toMatchObject({ code: 0, stdout: '2 acme\n' });
    await run(RootInstall, '@2.root.json --keys @keys');
  });

  it('accept the signature of an officer by securesystemslib', async () => {
    await using office = await withOffice();
    const { run, sign, python, at } = office;
    await run(RootInit, FIRST);
    await sign(1, 'ada');
    const { code, stdout } = await python('sign-root.py', '1.root.json', 'ben.pem');
    expect(code).toBe(0);
    await writeFile(at('1.root.json'), stdout);
    await run(RootInstall, '@1.root.json --keys @keys');
  });

  it('may begin with a root of python-tuf with other key ids, which both follow', async () => {
    await using office = await withOffice();
    const { run, sign, chain, python, at } = office;
    const officers = OFFICERS.slice(0, 3).map((name) => `${name}.pem`);
    const made = await python('make-root.py', 'acme', '2028-01-01T00:00:00Z', 'online.pub', ...officers);
    expect(made).toMatchObject({ code: 0, stderr: '' });
    await writeFile(at('1.root.json'), made.stdout);
    const one = parseRoot(Buffer.from(made.stdout));
    expect(one).toMatchObject({ fleet: 'acme', dev: false, roles: { root: { threshold: 2 } } });
    await run(
      RootRotate,
      '@1.root.json --add receipt=@online.pub --add audit=@online.pub --out @2.root.json',
    );
    await sign(2, 'ben', 'cleo');
    expect(advanceRoot(one, [parseRoot(await readFile(at('2.root.json')))]).version).toBe(2);
    expect(await chain(1, 2)).toMatchObject({ code: 0, stdout: '2 acme\n' });
  });

  it('ask an officer at a terminal, allow a mistyped password, and never show it', async () => {
    await using office = await withOffice();
    const { run, at } = office;
    const scheduler = programFile('scheduler');
    const script = join(import.meta.dirname, 'python-tuf', 'type-at.py');
    const { FLEET_KEY_PASSWORD: _ours, COSIGN_PASSWORD: _theirs, ...env } = process.env;
    const type = (answers: readonly string[], ...words: readonly string[]) =>
      runCommand([pythonTuf, script, ...answers, '--', process.execPath, scheduler, ...words], {
        env: { ...env, NO_COLOR: '1' },
      });
    const twice = ['New password', 'hunter two hunter', 'same again', 'hunter two hunter'];
    const made = await type(twice, 'keys', 'generate', '--out', at('eve.key'));
    expect(made).toMatchObject({ code: 0 });
    expect(made.stdout).not.toContain('hunter');
    await run(RootInit, `${FIRST} --officer @eve.pub`);
    const sign = (...answers: readonly string[]) =>
      type(answers, 'root', 'sign', at('1.root.json'), '--key', at('eve.key'));
    const no = await sign('Type yes', 'no');
    expect([no.code, no.stdout]).toEqual([1, expect.stringContaining('ABORTED: nothing was signed')]);
    const yes = await sign('Type yes', 'yes', 'Password of', 'hunter', 'Password of', 'hunter two hunter');
    expect([yes.code, yes.stdout]).toEqual([0, expect.stringContaining('root 1 signed by')]);
    expect(yes.stdout).not.toContain('hunter');
  });
});
