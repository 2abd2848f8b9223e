import { cp, rename, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readConfig } from '../../../agent/config/read-config.ts';
import { createDaemon } from '../../../agent/daemon/create-daemon.ts';
import type { Log } from '../../../agent/model/log.ts';
import { createWorld, type World } from '../world.ts';

const log: Log = { info: () => {}, warn: () => {}, error: () => {} };

const replace = async (directory: string): Promise<void> => {
  await rename(directory, `${directory}-before`);
  await cp(`${directory}-before`, directory, { recursive: true });
};

describe('a daemon whose state directory is lost after it was opened', () => {
  let world: World;
  let directory: string;
  beforeEach(async () => {
    world = await createWorld();
    directory = world.agent.state.directory;
  });
  afterEach(() => world[Symbol.asyncDispose]());

  const daemonOf = () =>
    createDaemon(
      world.agent,
      readConfig(undefined, {
        state: directory,
        hub: 'https://hub.example:8443',
        registry: 'oci://registry.example/fleet',
      }),
      log,
      {},
    );

  it.each([
    ['removed', (path: string) => rm(path, { recursive: true })],
    ['replaced', replace],
  ])('ends at its first look if the directory was %s', async (_what, lose) => {
    await lose(directory);
    await using daemon = daemonOf();
    const look = daemon.look({ mayBegin: true, news: new AbortController().signal });
    await expect(look).rejects.toMatchObject({ name: 'AbortError' });
    expect(daemon.signal.aborted).toBe(true);
    expect(existsSync(join(directory, 'lock.db'))).toBe(false);
  });

  it('asks neither hub nor registry', async () => {
    await using daemon = daemonOf();
    await replace(directory);
    await expect(daemon.hub?.visit({ present: true })).rejects.toMatchObject({ name: 'AbortError' });
    expect(daemon.signal.aborted).toBe(true);
    await expect(daemon.registry?.poll()).rejects.toMatchObject({ name: 'AbortError' });
  });
});
