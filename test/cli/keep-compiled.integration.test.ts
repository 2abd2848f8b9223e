import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
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

  it('lies in the cache folder of its user', async () => {
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

  it('is not created where a file is in the way, and the command runs without it', async () => {
    await using folder = await temporaryDirectory('compiled');
    const file = join(folder.path, '.cache');
    await writeFile(file, 'kept');
    succeed(await start({ HOME: folder.path }));
    expect(await readFile(file, 'utf8')).toBe('kept');
  });
});
