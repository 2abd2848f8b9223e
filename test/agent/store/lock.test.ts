import { describe, expect, it } from 'vitest';
import { acquireLock } from '../../../agent/store/lock.ts';
import { temporaryDirectory } from '../../harness/temporary-directory.ts';
import { NOW } from '../world.ts';

describe('the lock of a state directory', () => {
  it('has one holder, whom the next one is told of', async () => {
    await using folder = await temporaryDirectory('lock');
    using _held = await acquireLock(folder.path, 'import', NOW);
    await expect(acquireLock(folder.path, 'run', NOW)).rejects.toMatchObject({
      code: 'BUSY',
      message: expect.stringContaining(
        `fleet-agent import (process ${process.pid}, since 2026-11-21T08:00:00Z)`,
      ),
    });
  });

  it('is waited for as long as is said', async () => {
    await using folder = await temporaryDirectory('lock');
    const held = await acquireLock(folder.path, 'import', NOW);
    const next = acquireLock(folder.path, 'run', NOW, { waitMs: 5000 });
    held[Symbol.dispose]();
    using _lock = await next;
    await expect(acquireLock(folder.path, 'x', NOW)).rejects.toMatchObject({ code: 'BUSY' });
  });
});
