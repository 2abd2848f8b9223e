import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { programFile } from '../harness/run/program-file.ts';
import { runCommand, succeed } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const EXPORTER = programFile('exporter');
const AGENT = programFile('agent');

const start = (env: NodeJS.ProcessEnv, words: readonly string[] = [EXPORTER, '--version']) =>
  runCommand([process.execPath, ...words], { env: { PATH: process.env['PATH'], ...env } });

describe('the compile cache of a program', () => {
  it('is used by the commands of the agent, and not by its daemon', async () => {
    await using folder = await temporaryDirectory('compiled');
    const env = { HOME: folder.path, XDG_CACHE_HOME: folder.path };
    await start(env, [AGENT, 'run', '--help']);
    expect(await readdir(folder.path)).toEqual([]);
    await start(env, [AGENT, '--version']);
    expect(await readdir(folder.path)).toEqual(['fleet-ferry']);
  });

  it("is in the user's cache folder, or below XDG_CACHE_HOME", async () => {
    await using folder = await temporaryDirectory('compiled');
    succeed(await start({ HOME: folder.path }));
    expect(existsSync(join(folder.path, '.cache/fleet-ferry/code'))).toBe(true);
    const given = join(folder.path, 'given');
    await mkdir(given);
    succeed(await start({ HOME: folder.path, XDG_CACHE_HOME: given }));
    expect(existsSync(join(given, 'fleet-ferry/code'))).toBe(true);
  });

  it('is emptied by the first start after thirty days, and not before', async () => {
    await using folder = await temporaryDirectory('compiled');
    const code = join(folder.path, 'fleet-ferry/code');
    const env = { HOME: folder.path, XDG_CACHE_HOME: folder.path };
    await mkdir(join(code, '1/v24.0.0-x64'), { recursive: true });
    succeed(await start(env));
    expect(await readdir(code)).toEqual([expect.stringMatching(/^\d+$/)]);
    await mkdir(join(code, 'of another program'));
    succeed(await start(env));
    expect(await readdir(code)).toHaveLength(2);
  });

  it('is not created without a cache folder', async () => {
    await using folder = await temporaryDirectory('compiled');
    const none = join(folder.path, 'none');
    succeed(await start({ HOME: none }));
    succeed(await start({ HOME: folder.path, XDG_CACHE_HOME: none }));
    expect(existsSync(none)).toBe(false);
    expect(existsSync(join(folder.path, '.cache'))).toBe(false);
  });

  const OTHER = 4711;
  const asRoot = process.getuid?.() === 0;

  it.skipIf(!asRoot)(
    'L13: in the folder of another user is not used, and her link is not emptied -> ACCEPT',
    async () => {
      await using folder = await temporaryDirectory('compiled');
      const [home, precious] = [join(folder.path, 'home'), join(folder.path, 'precious')];
      await mkdir(join(home, '.cache/fleet-ferry'), { recursive: true });
      await mkdir(precious);
      await writeFile(join(precious, 'kept'), 'kept');
      await symlink(precious, join(home, '.cache/fleet-ferry/code'));
      const cache = (): Promise<readonly string[]> => readdir(home, { recursive: true });
      const before = await cache();
      for (const owner of [OTHER, 0]) {
        await chown(home, owner, owner);
        succeed(await start({ HOME: home }));
        succeed(await start({ HOME: home, XDG_CACHE_HOME: join(home, '.cache') }));
        expect(await readdir(precious)).toEqual(['kept']);
        expect(await cache()).toEqual(before);
      }
      await rm(join(home, '.cache/fleet-ferry/code'));
      await chown(join(home, '.cache/fleet-ferry'), OTHER, OTHER);
      succeed(await start({ HOME: home }));
      const made = await readdir(join(home, '.cache/fleet-ferry'));
      expect(made.length === 0 ? 'ACCEPT' : made).toBe('ACCEPT');
    },
  );

  it('L13: writable for others is not used, and a new one has mode 0700 for every umask -> ACCEPT', async () => {
    await using folder = await temporaryDirectory('compiled');
    const mask = 'umask 000; exec "$@"';
    const words = ['/bin/sh', '-c', mask, 'sh', process.execPath, EXPORTER, '--version'];
    const env = { PATH: process.env['PATH'], HOME: folder.path };
    succeed(await runCommand(words, { env }));
    const code = join(folder.path, '.cache/fleet-ferry/code');
    for (const one of [join(folder.path, '.cache'), code]) expect((await stat(one)).mode & 0o777).toBe(0o700);
    await rm(code, { recursive: true });
    await chmod(join(folder.path, '.cache/fleet-ferry'), 0o777);
    succeed(await start({ HOME: folder.path }));
    expect(existsSync(code) ? '' : 'ACCEPT').toBe('ACCEPT');
  });

  it('is not created where a file is in the way, and the command runs without it', async () => {
    await using folder = await temporaryDirectory('compiled');
    const file = join(folder.path, '.cache');
    await writeFile(file, 'kept');
    succeed(await start({ HOME: folder.path }));
    expect(await readFile(file, 'utf8')).toBe('kept');
  });
});
