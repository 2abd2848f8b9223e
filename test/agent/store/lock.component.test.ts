import { readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { acquireLock } from '../../../agent/store/lock.ts';
import { tryPullLock } from '../../../agent/store/pull-lock.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { NOW } from '../world.ts';

/** What `work` does as a user without any rights; only root may become that one, and root again. */
const asOther = (work: () => unknown): unknown => {
  process.setegid?.(1234);
  process.seteuid?.(1234);
  try {
    return work();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
};

describe('the lock of a state directory', () => {
  it('has one holder, whose command and process the next one reads in BUSY', async () => {
    await using folder = await temporaryDirectory('lock');
    using _held = await acquireLock(folder.path, 'import', NOW);
    await expect(acquireLock(folder.path, 'run', NOW)).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringContaining(
        `fleet-agent import (process ${process.pid}, since 2026-11-21T08:00:00Z)`,
      ),
    });
  });

  it.skipIf(process.getuid?.() !== 0)('L11: is on a file that no other user can open -> ACCEPT', async () => {
    await using folder = await temporaryDirectory('lock');
    await chmod(folder.path, 0o755);
    for (const lock of [await acquireLock(folder.path, 'import', NOW), tryPullLock(folder.path)])
      lock?.[Symbol.dispose]();
    for (const name of ['lock.db', 'pull-lock.db'])
      expect(() => asOther(() => readFileSync(join(folder.path, name)))).toThrow(/^EACCES/);
    using lock = await acquireLock(folder.path, 'run', NOW);
    expect(lock ? 'ACCEPT' : '').toBe('ACCEPT');
  });

  it('is waited for up to waitMs', async () => {
    await using folder = await temporaryDirectory('lock');
    const held = await acquireLock(folder.path, 'import', NOW);
    const next = acquireLock(folder.path, 'run', NOW, { waitMs: 5000 });
    held[Symbol.dispose]();
    using _lock = await next;
    await expect(acquireLock(folder.path, 'x', NOW)).rejects.toMatchObject({ code: 'BUSY' });
  });
});
