import { join } from 'node:path';
import { type Kysely, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { updateHistory } from '../../../../scheduler/hub/ingest/reports/rebuild-history.ts';
import { MIGRATIONS } from '../../../../scheduler/hub/store/migrations.ts';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { chain, enrolledHub, FLEET, happenings, report, testHub } from '../test-hub.ts';
import { CONTRACTED, NEXT } from './next-release.ts';
import { whatBreaks } from './what-breaks.ts';

describe('the migrations of a release', () => {
  it('remove nothing that the previous release uses, except in contract migrations', async () => {
    await using folder = await temporaryDirectory('migrate');
    const found = await whatBreaks(join(folder.path, 'hub.db'), MIGRATIONS);
    expect(found.filter((one) => !/^\d{4}-contract-/.test(one))).toEqual([]);
  });

  it('are reported when they remove, rename, retype or require something', async () => {
    const ups: readonly ((db: Kysely<unknown>) => Promise<unknown>)[] = [
      (db) => db.schema.dropTable('sign_in').execute(),
      (db) => db.schema.dropIndex('agent_site').execute(),
      (db) => db.schema.alterTable('alarm').renameColumn('events', 'evidence').execute(),
      async (db) => {
        await db.schema.alterTable('token').dropColumn('note').execute();
        await db.schema.alterTable('token').addColumn('note', 'bigint').execute();
      },
      async (db) => {
        await sql`drop table medium_return`.execute(db);
        await sql`create table medium_return (received_at text primary key, created_at text not null,
          releases text not null, sites text not null, by text not null)`.execute(db);
      },
      (db) => db.schema.createIndex('one_each').on('session').column('person').unique().execute(),
    ];
    await using folder = await temporaryDirectory('migrate');
    const bad = Object.fromEntries(
      ups.map((up, at) => [`bad-${at}`, { up: async (db: Kysely<unknown>) => void (await up(db)) }]),
    );
    const found = await whatBreaks(join(folder.path, 'hub.db'), { ...MIGRATIONS, ...bad });
    expect(found.filter((one) => one.startsWith('bad-')).toSorted()).toEqual([
      'bad-0 removes sign_in.ends_at',
      'bad-0 removes sign_in.hash',
      'bad-0 removes sign_in.target',
      'bad-1 removes agent_site',
      'bad-2 removes alarm.events',
      'bad-3 changes the type of token.note',
      'bad-4 demands medium_return.by',
      'bad-5 demands unique session(person)',
    ]);
  });
});

describe('a database migrated by a newer program', () => {
  it('works with the older program, at the same time and after its restart', async () => {
    await using hub = await enrolledHub();
    const lines = chain(hub.agent, happenings(4));
    const stick = await hub.stick();
    await report(stick, hub.agent, lines, 1, 1);
    await hub.importFrom(stick);
    await using newer = await openStore(hub.db, FLEET, { migrations: NEXT });
    await report(stick, hub.agent, lines, 2, 2);
    await hub.importFrom(stick);
    await using again = await openStore(hub.db, FLEET);
    await report(stick, hub.agent, lines, 3, 4);
    await again.transact((tx) => tx.updateTable('agent').set({ follower: null }).execute());
    await newer.transact((tx) => sql`insert into next (id) values ('a')`.execute(tx));
    await hub.importFrom(stick);
    const { rows } = await sql`select seq, next from event order by seq`.execute(newer.db);
    expect(rows).toEqual([
      { seq: 1, next: 1 },
      { seq: 2, next: 0 },
      { seq: 3, next: 0 },
      { seq: 4, next: 0 },
    ]);
  });

  it('is refused when a contract migration removed what the older program uses', async () => {
    await using hub = await testHub();
    await (await openStore(hub.db, FLEET, { migrations: CONTRACTED }))[Symbol.asyncDispose]();
    await expect(openStore(hub.db, FLEET)).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('9002-contract-next'),
    });
    // The release between has not removed it, but knows nothing of the contract.
    await expect(openStore(hub.db, FLEET, { migrations: NEXT })).rejects.toMatchObject({
      code: 'STORE_NEWER',
    });
    await using _same = await openStore(hub.db, FLEET, { migrations: CONTRACTED });
  });

  it('is refused by a program with other migrations', async () => {
    await using hub = await testHub();
    await (await openStore(hub.db, FLEET, { migrations: NEXT }))[Symbol.asyncDispose]();
    const other = { ...MIGRATIONS, '9000-other': { up: async () => {} } };
    await expect(openStore(hub.db, FLEET, { migrations: other })).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('lacks 9000-other'),
    });
  });

  it('keeps the history written by newer rules', async () => {
    await using hub = await testHub();
    await hub.store.db.updateTable('fleet').set({ history: 99 }).execute();
    await updateHistory(hub.store, () => {});
    expect(await hub.store.db.selectFrom('fleet').select('history').execute()).toEqual([{ history: 99 }]);
  });
});
