import { chmod, copyFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import SQLite from 'better-sqlite3';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NONE: Digest = `sha256:${'0'.repeat(64)}`;

describe("the hub's database", () => {
  it('is durable: WAL, with every commit synced to disk', async () => {
    await using folder = await temporaryDirectory('store');
    await using store = await openStore(join(folder.path, 'sub/hub.db'), 'acme');
    const journal = await sql<{ journal_mode: string }>`pragma journal_mode`.execute(store.db);
    const synchronous = await sql<{ synchronous: number }>`pragma synchronous`.execute(store.db);
    expect(journal.rows).toEqual([{ journal_mode: 'wal' }]);
    expect(synchronous.rows).toEqual([{ synchronous: 2 }]);
  });

  it('truncates the WAL after a long read transaction made it grow', async () => {
    await using folder = await temporaryDirectory('store');
    const file = join(folder.path, 'hub.db');
    await using store = await openStore(file, 'acme');
    const walBytes = async () => (await stat(`${file}-wal`)).size;
    const write = (receipt: string) =>
      store.db
        .insertInto('receipt')
        .values({ agent: 'a/b', life: 1, to_seq: 1, head: NONE, report: NONE, receipt })
        .onConflict((conflict) => conflict.column('agent').doUpdateSet({ receipt }))
        .execute();
    const dashboard = new SQLite(file, { readonly: true });
    dashboard.exec('BEGIN; SELECT * FROM receipt');
    await write('x'.repeat(20 << 20));
    expect(await walBytes()).toBeGreaterThan(20 << 20);
    dashboard.close();
    for (const next of ['1', '2']) await write(next);
    expect(await walBytes()).toBeLessThanOrEqual(16 << 20);
  });

  it.each([
    ['removed', (file: string) => rm(file)],
    [
      'replaced by a copy',
      (file: string) => copyFile(file, `${file}.new`).then(() => rename(`${file}.new`, file)),
    ],
  ])(
    'that was %s while it is open takes nothing more, which would be lost with the process',
    async (_what, lose) => {
      await using folder = await temporaryDirectory('store');
      const file = join(folder.path, 'hub.db');
      await using store = await openStore(file, 'acme');
      const work = () => store.transact((tx) => tx.selectFrom('receipt').selectAll().execute());
      expect(await work()).toEqual([]);
      await lose(file);
      await expect(work()).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
        message: expect.stringContaining('replaced'),
      });
      expect(store.moved.aborted).toBe(true);
    },
  );

  it('is readable by its owner only, like a directory created for it', async () => {
    await using folder = await temporaryDirectory('store');
    const file = join(folder.path, 'sub/hub.db');
    const mode = async (path: string) => (await stat(path)).mode & 0o777;
    const open = () => openStore(file, 'acme');
    {
      await using store = await open();
      expect(store.fleet).toBe('acme');
      expect(await mode(join(folder.path, 'sub'))).toBe(0o700);
      for (const suffix of ['', '-wal', '-shm']) expect(await mode(`${file}${suffix}`)).toBe(0o600);
      for (const suffix of ['', '-wal', '-shm']) await chmod(`${file}${suffix}`, 0o644);
      await using _second = await open();
      for (const suffix of ['', '-wal', '-shm']) expect(await mode(`${file}${suffix}`)).toBe(0o600);
    }
    // A directory that is there may be others' too.
    await chmod(join(folder.path, 'sub'), 0o755);
    await using _again = await open();
    expect(await mode(join(folder.path, 'sub'))).toBe(0o755);
  });

  it('rolls back a transaction that fails', async () => {
    await using folder = await temporaryDirectory('store');
    await using store = await openStore(join(folder.path, 'hub.db'), 'acme');
    await expect(
      store.transact(async (tx) => {
        await tx
          .insertInto('receipt')
          .values({ agent: 'a/b', life: 1, to_seq: 1, head: NONE, report: NONE, receipt: '' })
          .execute();
        throw new Error('the plug');
      }),
    ).rejects.toThrow('the plug');
    expect(await store.db.selectFrom('receipt').selectAll().execute()).toEqual([]);
  });

  it('reports a full disk, rolls back the transaction, and works again when space is free', async () => {
    await using folder = await temporaryDirectory('store');
    await using store = await openStore(join(folder.path, 'hub.db'), 'acme');
    const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(store.db);
    const write = () =>
      store.transact((tx) =>
        tx
          .insertInto('receipt')
          .values({
            agent: 'a/b',
            life: 1,
            to_seq: 1,
            head: NONE,
            report: NONE,
            receipt: 'x'.repeat(100_000),
          })
          .execute(),
      );
    await sql`pragma max_page_count = ${sql.lit(rows[0]?.page_count ?? 1)}`.execute(store.db);
    await expect(write()).rejects.toMatchObject({ code: 'DISK_FULL' });
    await sql`pragma max_page_count = 1000000`.execute(store.db);
    await write();
    expect(await store.db.selectFrom('receipt').select('agent').execute()).toEqual([{ agent: 'a/b' }]);
  });

  it('can be reopened for the same fleet only', async () => {
    await using folder = await temporaryDirectory('store');
    const file = join(folder.path, 'hub.db');
    await (await openStore(file, 'acme'))[Symbol.asyncDispose]();
    await using store = await openStore(file, 'acme');
    expect(store.fleet).toBe('acme');
    await expect(openStore(file, 'other')).rejects.toMatchObject({ code: 'WRONG_FLEET' });
  });

  it('refuses a file that is not a database', async () => {
    await using folder = await temporaryDirectory('store');
    const file = join(folder.path, 'hub.db');
    await writeFile(file, 'this is not a database, it is a shopping list'.repeat(100));
    await expect(openStore(file, 'acme')).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  it('queues two writers', async () => {
    await using folder = await temporaryDirectory('store');
    const file = join(folder.path, 'hub.db');
    await using one = await openStore(file, 'acme');
    await using two = await openStore(file, 'acme');
    const add = (store: typeof one, agent: string) =>
      store.transact(async (tx) => {
        await tx.selectFrom('receipt').selectAll().execute();
        await tx
          .insertInto('receipt')
          .values({ agent, life: 1, to_seq: 1, head: NONE, report: NONE, receipt: '' })
          .execute();
      });
    for (let round = 0; round < 5; round++) {
      await add(one, `a/${round}`);
      await add(two, `b/${round}`);
    }
    expect((await one.db.selectFrom('receipt').selectAll().execute()).length).toBe(10);
  });
});
