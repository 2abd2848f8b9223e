import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { parts } from '../../harness/parts.ts';
import type { RunLine } from '../../harness/run/kept-program.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { shellProgram } from '../../harness/run/shell-program.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** The blocks of a page that are typed, each with the heading it stands under. */
const blocksOf = (page: string): readonly { readonly heading: string; readonly script: string }[] => {
  let heading = '';
  return page.split(/^(?=## |```)/m).flatMap((part) => {
    heading = /^## (.+)/.exec(part)?.[1] ?? heading;
    const script = /^```sh\n([\s\S]*)/.exec(part)?.[1];
    return script === undefined ? [] : [{ heading, script }];
  });
};

const page = await readFile(join(ROOT, 'docs', 'ceremonies.md'), 'utf8');
const blocks = blocksOf(page);

/** The passwords are in the environment, and nobody is there to type yes: all else is as the page says. */
const run: RunLine = (cwd, words, env) =>
  runScheduler(cwd, words.slice(0, 2).join(' ') === 'root sign' ? [...words, '--yes'] : words, env);

describe('the page about ceremonies', () => {
  let folder: TemporaryDirectory;
  let program: AsyncDisposable;

  beforeAll(async () => {
    folder = await temporaryDirectory('ceremony');
    await mkdir(join(folder.path, 'stick'));
    await mkdir(join(folder.path, 'bin'));
    program = await shellProgram(join(folder.path, 'bin'), 'fleet-scheduler', run, environment());
  });

  afterAll(async () => {
    await program?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const environment = (): NodeJS.ProcessEnv => ({
    HOME: folder.path,
    PATH: `${join(folder.path, 'bin')}:${process.env['PATH']}`,
    FLEET_KEY_PASSWORD: 'correct horse',
  });

  it.each(blocks.map(({ heading, script }, index) => [index + 1, heading, script] as const))(
    'runs and prints what it shows: block %i, %s',
    async (_number, _heading, script) => {
      const { code, stdout, stderr } = await runCommand(['sh', '-euc', script], {
        cwd: folder.path,
        env: environment(),
      });
      expect({ code, said: code === 0 ? '' : stdout + stderr }).toEqual({ code: 0, said: '' });
    },
    300_000,
  );

  it('ends with five roots, the last of which has the new keys only', async () => {
    expect(blocks.length).toBeGreaterThan(15);
    const { roots, root, key, authority } = await openKeyDirectory(join(folder.path, 'keys'));
    expect(roots.map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    expect(root).toMatchObject({ fleet: 'acme', dev: false, roles: { root: { threshold: 2 } } });
    expect(root.roles.root.keys).toHaveLength(4);
    expect(root.roles.release.keys.map(({ hint }) => hint)).toEqual([(await key('release')).public.hint]);
    await authority();
    const trial = await openKeyDirectory(join(folder.path, 'trial'));
    expect(trial.roots.map(({ dev }) => dev)).toEqual([true, false]);
  });

  const python = parts.pythonTuf;

  it.skipIf(!python.present)('has a script for python-tuf that accepts these roots', async () => {
    const script = /^```python\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '';
    await writeFile(join(folder.path, 'verify-roots.py'), script);
    const files = [1, 2, 3, 4, 5].map((version) => join('keys', `${version}.root.json`));
    const verify = (...roots: readonly string[]) =>
      runCommand([python.present ? python.path : '', 'verify-roots.py', ...roots], { cwd: folder.path });
    const { code, stdout } = await verify(...files);
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^5 .* acme\n$/)]);
    expect((await verify(...files.filter((_, index) => index !== 2))).code).not.toBe(0);
    expect((await verify('trial-1.root.json', 'trial-2.root.json')).stdout).toMatch(/^2 .* trial\n$/);
  });
});
