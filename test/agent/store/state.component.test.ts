import { chmod, chown, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS, USABLE_FROM } from '../../../agent/store/migrations.ts';
import { acquireLock } from '../../../agent/store/lock.ts';
import { openState } from '../../../agent/store/state.ts';
import { refusal } from '../../bundles/refusal.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

describe('a state directory', () => {
  it('is created only with "create", as a WAL database with full synchronization', async () => {
    await using folder = await temporaryDirectory('state');
    const path = join(folder.path, 'state');
    expect(refusal(() => openState(path))).toBe('NOT_ENROLLED');
    using state = openState(path, { create: true });
    expect(state.db.pragma('journal_mode', { simple: true })).toBe('wal');
    expect(state.db.pragma('synchronous', { simple: true })).toBe(2);
    expect(state.db.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length);
  });

  const modes = async (path: string) => {
    const names = ['.', ...(await readdir(path)).filter((name) => name.startsWith('state.db'))];
    const all = await Promise.all(
      names.map(async (name) => [name, (await stat(join(path, name))).mode & 0o777]),
    );
    return Object.fromEntries(all) as Record<string, number>;
  };
  const PRIVATE = { '.': 0o700, 'state.db': 0o600, 'state.db-shm': 0o600, 'state.db-wal': 0o600 };

  it("L9: is the agent's alone, and made so where an older agent left it open -> ACCEPT", async () => {
    await using folder = await temporaryDirectory('state');
    const path = join(folder.path, 'state');
    {
      using state = openState(path, { create: true });
      expect(state.db.open).toBe(true);
      expect(await modes(path)).toEqual(PRIVATE);
      await chmod(path, 0o755);
      for (const name of ['state.db', 'state.db-shm', 'state.db-wal']) await chmod(join(path, name), 0o644);
      using second = openState(path);
      expect(second.db.open ? 'ACCEPT' : '').toBe('ACCEPT');
      expect(await modes(path)).toEqual(PRIVATE);
    }
    expect(await modes(path)).toEqual({ '.': 0o700, 'state.db': 0o600 });
  });

  it.skipIf(process.getuid?.() !== 0)('L14: of another user is not used by root -> PERMISSION', async () => {
    await using folder = await temporaryDirectory('state');
    const path = join(folder.path, 'state');
    openState(path, { create: true })[Symbol.dispose]();
    await chown(path, 4711, 4711);
    for (const create of [false, true]) expect(refusal(() => openState(path, { create }))).toBe('PERMISSION');
    await expect(acquireLock(path, 'import', new Date())).rejects.toThrow(/belongs to user 4711/);
  });

  it('of a newer agent that no older one can use is refused as AGENT_TOO_OLD', async () => {
    await using folder = await temporaryDirectory('state');
    {
      using state = openState(folder.path, { create: true });
      state.db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
      state.db.pragma(`application_id = ${MIGRATIONS.length + 1}`);
    }
    expect(refusal(() => openState(folder.path))).toBe('AGENT_TOO_OLD');
  });

  const numbers = ({ db }: Pick<ReturnType<typeof openState>, 'db'>) =>
    ['user_version', 'application_id'].map((name) => db.pragma(name, { simple: true }));

  it('of a newer agent that an older one can use is used, and left to the newer one as it was', async () => {
    await using folder = await temporaryDirectory('state');
    {
      using newer = openState(folder.path, { create: true });
      newer.db.exec('CREATE TABLE later (a TEXT) STRICT; ALTER TABLE condition ADD COLUMN later TEXT');
      newer.db.pragma(`user_version = ${MIGRATIONS.length + 1}`);
    }
    using state = openState(folder.path);
    state.db.prepare('INSERT INTO condition (name, value) VALUES (?, ?)').run('held', '{}');
    expect(numbers(state)).toEqual([MIGRATIONS.length + 1, USABLE_FROM]);
  });

  it('records the oldest schema that can use it, also where an older agent did not', async () => {
    await using folder = await temporaryDirectory('state');
    {
      using state = openState(folder.path, { create: true });
      expect(numbers(state)).toEqual([MIGRATIONS.length, USABLE_FROM]);
      state.db.pragma('application_id = 0');
    }
    using state = openState(folder.path);
    expect(numbers(state)).toEqual([MIGRATIONS.length, USABLE_FROM]);
  });

  it('that is damaged is refused as STORE_CORRUPT', async () => {
    await using folder = await temporaryDirectory('state');
    await writeFile(join(folder.path, 'state.db'), 'x'.repeat(8192));
    expect(refusal(() => openState(folder.path))).toBe('STORE_CORRUPT');
  });
});
