import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { saveCondition } from '../../../agent/store/conditions.ts';
import { forgetPull, savePull } from '../../../agent/store/pull.ts';
import { tryPullLock } from '../../../agent/store/pull-lock.ts';
import { createWorld, onePackage, storedBlobs } from '../world.ts';

const LOOSE = Buffer.from('brought by a pull that was cut');

describe('what nothing pins', () => {
  it('is removed, but not while a pull is bringing it in', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const { state } = world.agent;
    const kept = await storedBlobs(state);
    await state.blobs.write(digestOf(LOOSE), LOOSE.byteLength, LOOSE);
    savePull(state, [digestOf(LOOSE)]);
    expect(await collectGarbage(state)).toEqual([]);
    forgetPull(state);
    expect(await collectGarbage(state)).toEqual([digestOf(LOOSE)]);
    expect(await storedBlobs(state)).toEqual(kept);
  });

  it('is removed on a full disk, where the look fails at its first write', async () => {
    await using world = await createWorld(undefined, { freeBytes: async () => 0 });
    const { state } = world.agent;
    await state.blobs.write(digestOf(LOOSE), LOOSE.byteLength, LOOSE);
    state.db.exec(
      "CREATE TEMP TRIGGER full BEFORE INSERT ON outbox BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END",
    );
    saveCondition(state, 'held', { since: '', until: '2020-01-01T00:00:00Z', operator: '', reason: '' });
    await expect(lookAround(world.agent)).rejects.toThrow('full');
    expect(await state.blobs.size(digestOf(LOOSE))).toBeUndefined();
  });

  it('in half-written files is removed when no process writes them', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const { state } = world.agent;
    const half = join(state.directory, 'blobs/sha256/.tmp-12345678');
    writeFileSync(half, 'half');
    const lock = tryPullLock(state.directory);
    expect(tryPullLock(state.directory)).toBeUndefined();
    await collectGarbage(state);
    expect(existsSync(half)).toBe(true);
    lock?.[Symbol.dispose]();
    await collectGarbage(state);
    expect(existsSync(half)).toBe(false);
  });
});
