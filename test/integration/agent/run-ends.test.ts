import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createWorld, type World } from '../../agent/world.ts';
import { programFile } from '../../harness/run/program-file.ts';

describe('the daemon of an agent', () => {
  let world: World;
  let child: ReturnType<typeof start> | undefined;
  beforeEach(async () => {
    world = await createWorld();
    await mkdir(join(world.folder, 'root'));
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await world[Symbol.asyncDispose]();
  });

  const directory = () => join(world.folder, 'state');
  const start = (more: NodeJS.ProcessEnv = {}) =>
    spawn(process.execPath, [programFile('agent'), 'run'], {
      env: {
        ...process.env,
        FLEET_AGENT_STATE: directory(),
        FLEET_AGENT_ROOT: join(world.folder, 'root'),
        FLEET_AGENT_SERVICES: 'none',
        FLEET_AGENT_INTERVAL: '1s',
        // As in a pod: a file that is written while the daemon makes progress.
        ALIVE_FILE: join(world.folder, 'alive'),
        ...more,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  /** Its exit code and what it printed; undefined while it runs on. */
  const endOf = async (one: ReturnType<typeof start>) => {
    const [[code], errors] = await Promise.all([
      once(one, 'exit', { signal: AbortSignal.timeout(60_000) }) as Promise<[number | null]>,
      Array.fromAsync(one.stderr),
    ]);
    return { code, said: Buffer.concat(errors).toString() };
  };
  const looked = async (one: ReturnType<typeof start>): Promise<void> => {
    for await (const line of one.stdout.iterator({ destroyOnReturn: false }))
      if (String(line).includes('"looked"')) break;
    one.stdout.resume();
  };

  it.each([
    // The daemon may write into a folder that is half removed.
    ['removed', () => rm(directory(), { recursive: true, maxRetries: 20 })],
    ['moved away', () => rename(directory(), join(world.folder, 'old'))],
  ])('ends when its state directory is %s, and makes no new one', async (_what, lose) => {
    child = start();
    await looked(child);
    await lose();
    const { code, said } = await endOf(child);
    expect([code, said]).toEqual([
      1,
      expect.stringContaining('was removed or replaced while the daemon ran'),
    ]);
    expect(existsSync(directory())).toBe(false);
  });

  it('ends with an error of its configuration also where its progress is watched', async () => {
    child = start({
      FLEET_AGENT_REGISTRY: 'oci://registry.example/fleet',
      FLEET_AGENT_CA_FILE: join(world.folder, 'missing.pem'),
    });
    child.stdout.resume();
    const { code, said } = await endOf(child);
    expect([code, said]).toEqual([expect.any(Number), expect.stringContaining('missing.pem')]);
    expect(code).not.toBe(0);
  });
});
