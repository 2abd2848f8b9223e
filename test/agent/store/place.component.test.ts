import { cpSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock, placeHeld } from '../../../agent/store/lock.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { NOW } from '../world.ts';

const BOOT = '0d1f5a2e-90c4-4b9e-8f53-6f0b8a3b2c11';
const NEXT_BOOT = '7c1f5a2e-90c4-4b9e-8f53-6f0b8a3b2c11';

/** What a process that locks the directory on that boot is called in a lease; undefined: nothing can be known. */
const placeIn = async (directory: string, bootId: string = BOOT): Promise<string | undefined> => {
  using _lock = await acquireLock(directory, 'run', NOW, { bootId });
  return placeHeld(directory);
};

/** A directory that was locked before, as any is after its enrolment. */
const usedDirectory = async (path: string): Promise<string> => {
  const directory = join(path, 'state');
  using _lock = await acquireLock(directory, 'enroll', NOW);
  return directory;
};

describe('the place of a lock', () => {
  it('is the same for each process that takes the lock after another', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const first = await placeIn(directory);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(await placeIn(directory)).toBe(first);
    // A command that asks for none leaves it.
    (await acquireLock(directory, 'enroll', NOW))[Symbol.dispose]();
    expect(await placeIn(directory)).toBe(first);
  });

  it('is known only while this process holds the lock', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const lock = await acquireLock(directory, 'run', NOW, { bootId: BOOT });
    expect(placeHeld(directory)).toBeDefined();
    lock[Symbol.dispose]();
    expect(placeHeld(directory)).toBeUndefined();
  });

  it('differs in a copy of the directory', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const first = await placeIn(directory);
    const copy = join(folder.path, 'copy');
    cpSync(directory, copy, { recursive: true });
    expect(readFileSync(join(copy, 'lock.json'), 'utf8')).toContain(first);
    expect(await placeIn(copy)).not.toBe(first);
    expect(await placeIn(directory)).toBe(first);
  });

  it('differs after a boot, on a copied disk, on another node of a shared directory, and on return', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const here = await placeIn(directory);
    const there = await placeIn(directory, NEXT_BOOT);
    const hereAgain = await placeIn(directory);
    expect(new Set([here, there, hereAgain]).size).toBe(3);
  });

  it('differs when the lock file was replaced, as by a restored backup', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const first = await placeIn(directory);
    const file = join(directory, 'lock.db');
    // Its number must not be free for the new one: a holder that lives has it open.
    linkSync(file, join(folder.path, 'open'));
    rmSync(file);
    writeFileSync(file, '');
    expect(await placeIn(directory)).not.toBe(first);
  });

  it('is unknown without a boot id of the kernel, and for a lock file copied from another machine', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    expect(await placeIn(directory, 'unknown')).toBeUndefined();
    const fresh = join(folder.path, 'fresh');
    expect(await placeIn(fresh)).toBeUndefined();
    expect(await placeIn(fresh)).toBeDefined();
  });

  it('is created again when the old one cannot be read', async () => {
    await using folder = await temporaryDirectory('place');
    const directory = await usedDirectory(folder.path);
    const first = await placeIn(directory);
    for (const torn of ['', '{"pid":1,"pla', 'null', '{"place":{"id":"","bootId":"x","file":"y"}}']) {
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, 'lock.json'), torn);
      expect(await placeIn(directory), torn).toMatch(/^[0-9a-f]{16}$/);
    }
    expect(await placeIn(directory)).not.toBe(first);
  });
});
