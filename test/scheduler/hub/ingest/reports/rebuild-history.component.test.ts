import { array, assert, asyncProperty, constantFrom, integer, record, shuffledSubarray } from 'fast-check';
import { join } from 'node:path';
import { Kysely, sql } from 'kysely';
import { Migrator } from 'kysely/migration';
import { describe, expect, it } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import { addDays, formatTime } from '#bundles/time';
import { emptyState, foldEvent } from '../../../../../scheduler/hub/ingest/reports/fold-event.ts';
import { factsOf, startOf } from '../../../../../scheduler/hub/ingest/reports/facts.ts';
import {
  updateHistory,
  rebuildHistory,
} from '../../../../../scheduler/hub/ingest/reports/rebuild-history.ts';
import { MIGRATIONS } from '../../../../../scheduler/hub/store/migrations.ts';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import { openPostgres } from '../../../../../scheduler/hub/store/postgres-dialect.ts';
import { openSqlite } from '../../../../../scheduler/hub/store/sqlite-dialect.ts';
import { isDatabaseUrl } from '../../../../../scheduler/settings/database-url.ts';
import { databaseAt } from '../../test-database.ts';
import type { HistoryRow } from '../../../../../scheduler/hub/store/history-row.ts';
import type { Database } from '../../../../../scheduler/hub/store/tables.ts';
import { runs } from '../../../../harness/run/long.ts';
import { chain, enrolledHub, type Happening, HOSTS, NOW, report, digest } from '../../test-hub.ts';

const HOUR_MS = 3_600_000;
const hoursAfter = (hours: number): Date => new Date(NOW.getTime() + hours * HOUR_MS);

const tables = async (db: Database): Promise<string> =>
  JSON.stringify({
    history: await db
      .selectFrom('history')
      .selectAll()
      .orderBy('agent')
      .orderBy('assignment')
      .orderBy('field')
      .orderBy('life')
      .orderBy('seq')
      .execute(),
    states: await db
      .selectFrom('assignment_state')
      .selectAll()
      .orderBy('agent')
      .orderBy('assignment')
      .execute(),
    agents: await db.selectFrom('agent_state').selectAll().orderBy('agent').execute(),
  });

const step = (digit: string, more: Partial<Happening> = {}): Happening => ({
  type: 'package',
  assignment: 'oven',
  package: digest(digit),
  siteValues: digest('9'),
  outcome: 'configured',
  ...more,
});

const happening = record({
  assignment: constantFrom('oven', 'press'),
  digit: constantFrom('a', 'b'),
  kind: integer({ min: 0, max: 7 }),
}).map(({ assignment, digit, kind }): Happening => {
  const one = step(digit, { assignment });
  switch (kind) {
    case 0:
      return {
        type: 'imported',
        siteValues: digest(digit),
        release: { ...HOSTS, version: 1 + (digit === 'a' ? 0 : 1) },
      };
    case 1:
      return { ...one, outcome: 'failed', code: 'CHECK_FAILED' };
    case 2:
      return { ...one, type: 'rolled-back', code: 'CHECK_FAILED' };
    case 3:
      return { type: 'drift', assignment };
    case 4:
      return { type: 'check', assignment };
    case 5:
      return { ...one, outcome: 'deleted' };
    default:
      return one;
  }
});

/** What was known at a time: each field's value from the newest of the events that had come. */
const known = (events: readonly (Event & { readonly received: string })[], at: string) => {
  const values = new Map<string, string | null>();
  for (const event of events.filter(({ received }) => received <= at))
    for (const { assignment, field, value } of factsOf(event)) values.set(`${assignment} ${field}`, value);
  return Object.fromEntries(
    [...values].filter(([key, value]) => value !== startOf(key.split(' ')[1] as HistoryRow['field'])),
  );
};

const knownRows = (rows: readonly HistoryRow[], at: string) => {
  const values = new Map<string, string | null>();
  for (const row of rows
    .filter(({ received_at: received }) => received <= at)
    .toSorted((a, b) => a.seq - b.seq))
    values.set(`${row.assignment} ${row.field}`, row.value);
  return Object.fromEntries(
    [...values].filter(([key, value]) => value !== startOf(key.split(' ')[1] as HistoryRow['field'])),
  );
};

/** First and last event of reports, some of which overlap. */
const RANGES: readonly (readonly [number, number])[] = [
  [1, 1],
  [1, 2],
  [2, 4],
  [3, 3],
  [4, 5],
  [6, 6],
];

/** Copies what a database of an older version has: its tables and columns, up to this migration. */
const copyTo = async (from: Database, place: string, migration: string): Promise<void> => {
  const dialect = isDatabaseUrl(place) ? openPostgres(place) : await openSqlite(place);
  const to = new Kysely<Record<string, Record<string, unknown>>>({ dialect });
  const provider = { getMigrations: async () => ({ ...MIGRATIONS }) };
  const { error } = await new Migrator({ db: to, provider }).migrateTo(migration);
  if (error !== undefined) throw error;
  for (const { name, columns } of await to.introspection.getTables()) {
    const selected = columns.map((column) => sql.ref(column.name));
    const { rows } = await sql<
      Record<string, unknown>
    >`select ${sql.join(selected)} from ${sql.table(name)}`.execute(from);
    for (const row of rows) await to.insertInto(name).values(row).execute();
  }
  await to.destroy();
};

describe('the history of an agent', () => {
  it('has a row for each change, and none for a confirmation', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    await report(
      stick,
      hub.agent,
      chain(hub.agent, [step('a'), step('a', { outcome: 'unchanged' }), step('b')]),
    );
    await hub.importFrom(stick);
    const rows = await hub.store.db
      .selectFrom('history')
      .select(['field', 'seq', 'value'])
      .orderBy('seq')
      .orderBy('field')
      .execute();
    expect(rows).toEqual([
      { field: 'health', seq: 1, value: 'healthy' },
      { field: 'package', seq: 1, value: digest('a') },
      { field: 'values', seq: 1, value: digest('9') },
      { field: 'package', seq: 3, value: digest('b') },
    ]);
  });

  it('turns a confirmation into a change when a late report contains what happened before it', async () => {
    await using hub = await enrolledHub();
    const lines = chain(hub.agent, [step('a'), step('b'), step('a')]);
    for (const [name, at] of [
      ['first', 1],
      ['third', 3],
      ['second', 2],
    ] as const) {
      const stick = await hub.stick(name);
      await report(stick, hub.agent, lines, at, at);
      await hub.importFrom(stick, hoursAfter(at));
    }
    const rows = await hub.store.db
      .selectFrom('history')
      .select(['seq', 'value', 'received_at'])
      .where('field', '=', 'package')
      .orderBy('seq')
      .execute();
    expect(rows).toEqual([
      { seq: 1, value: digest('a'), received_at: formatTime(hoursAfter(1)) },
      { seq: 2, value: digest('b'), received_at: formatTime(hoursAfter(2)) },
      { seq: 3, value: digest('a'), received_at: formatTime(hoursAfter(3)) },
    ]);
  });

  it('uses the time of receipt for an event from the future', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, [step('a', { at: formatTime(addDays(NOW, 400)) })]));
    await hub.importFrom(stick);
    const rows = await hub.store.db.selectFrom('history').select('observed_at').distinct().execute();
    expect(rows).toEqual([{ observed_at: formatTime(NOW) }]);
  });

  it('rebuilt from reports in any order equals the stored history at every time', async () => {
    const histories = record({
      happenings: array(happening, { minLength: 6, maxLength: 6 }),
      order: shuffledSubarray([...RANGES], { minLength: 4 }),
      // Some reports come at the same second, as those on one medium do.
      hours: array(integer({ min: 0, max: 1 }), { minLength: 6, maxLength: 6 }),
    });
    await assert(
      asyncProperty(histories, async ({ happenings, order, hours }) => {
        await using hub = await enrolledHub();
        const lines = chain(hub.agent, happenings);
        const received = new Map<number, string>();
        let hour = 0;
        for (const [index, [from, to]] of order.entries()) {
          hour += hours[index] ?? 0;
          const stick = await hub.stick(`stick-${index}`);
          await report(stick, hub.agent, lines, from, to);
          await hub.importFrom(stick, hoursAfter(hour));
          for (let seq = from; seq <= to; seq += 1)
            if (!received.has(seq)) received.set(seq, formatTime(hoursAfter(hour)));
        }
        const { db } = hub.store;
        const written = await tables(db);
        await rebuildHistory(hub.store);
        expect(await tables(db)).toBe(written);
        const events = lines
          .map((line) => JSON.parse(line) as Event)
          .flatMap((event) => {
            const at = received.get(event.seq);
            return at === undefined ? [] : [{ ...event, received: at }];
          });
        const rows = await db.selectFrom('history').selectAll().execute();
        for (const at of new Set(received.values())) expect(knownRows(rows, at)).toEqual(known(events, at));
        for (const state of await db.selectFrom('assignment_state').selectAll().execute()) {
          const folded = events
            .filter(({ assignment }) => assignment === state.assignment)
            .reduce(
              (before, event) => foldEvent(before, event, state.running_report ?? digest('0')),
              emptyState(state.agent, state.assignment),
            );
          expect(state).toMatchObject({
            package: folded.package,
            outcome: folded.outcome,
            drifted: folded.drifted,
          });
        }
      }),
      { numRuns: runs(60, 20) },
    );
  });

  it('of an older database version is built when a hub opens it, from reports in order of receipt', async () => {
    await using hub = await enrolledHub();
    const lines = chain(hub.agent, [step('a'), step('b'), step('a')]);
    for (const [name, at] of [
      ['first', 1],
      ['third', 3],
      ['second', 2],
    ] as const) {
      const stick = await hub.stick(name);
      await report(stick, hub.agent, lines, at, at);
      await hub.importFrom(stick, hoursAfter(name === 'second' ? 9 : at));
    }
    const { db, fleet } = hub.store;
    const written = await tables(db);
    const older = await databaseAt(join(hub.path, 'older.db'));
    await copyTo(db, older, '0007-held');
    await using migrated = await openStore(older, fleet);
    const said: string[] = [];
    await updateHistory(migrated, (line) => said.push(line));
    expect(said).toEqual([expect.stringContaining('rebuilt from 3 reports')]);
    expect(await tables(migrated.db)).toBe(written);
    await updateHistory(migrated, (line) => said.push(line));
    expect(said).toHaveLength(1);
  });

  it('of a newer version is not written: reports and a rebuild are refused with STORE_NEWER', async () => {
    await using hub = await enrolledHub();
    const { db } = hub.store;
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, [step('a')]));
    const { history } = await db.selectFrom('fleet').select('history').executeTakeFirstOrThrow();
    const before = await tables(db);
    await db.updateTable('fleet').set({ history: 99 }).execute();
    await expect(hub.importFrom(stick)).rejects.toMatchObject({ code: 'STORE_NEWER' });
    await expect(rebuildHistory(hub.store)).rejects.toMatchObject({ code: 'STORE_NEWER' });
    expect(await tables(db)).toBe(before);
    await db.updateTable('fleet').set({ history }).execute();
    expect((await hub.importFrom(stick)).agents).toMatchObject([{ taken: 1 }]);
  });
});
