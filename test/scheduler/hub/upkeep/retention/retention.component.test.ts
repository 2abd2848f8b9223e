import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { addDays, formatTime } from '#bundles/time';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { answerHistory } from '../../../../../scheduler/hub/questions/answers/answer-history.ts';
import { answerWhere } from '../../../../../scheduler/hub/questions/answers/answer-where.ts';
import { rebuildHistory } from '../../../../../scheduler/hub/ingest/reports/rebuild-history.ts';
import { restoreReports } from '../../../../../scheduler/hub/ingest/reports/restore-reports.ts';
import {
  applyRetention,
  retentionDays,
} from '../../../../../scheduler/hub/upkeep/retention/apply-retention.ts';
import { trimLife } from '../../../../../scheduler/hub/upkeep/retention/trim-life.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { Database } from '../../../../../scheduler/hub/store/tables.ts';
import {
  chain,
  enrolled,
  type Happening,
  hubsAfter,
  NOW,
  receiptOn,
  report,
  type TestHub,
  digest,
} from '../../test-hub.ts';
import { formatLines } from '#cli/format-table';

const day = (number: number): Date => addDays(NOW, number);
const { signal } = new AbortController();

const step = (digit: string, at: Date, more: Partial<Happening> = {}): Happening => ({
  type: 'package',
  assignment: 'oven',
  package: digest(digit),
  siteValues: digest('9'),
  outcome: 'configured',
  at: formatTime(at),
  ...more,
});

const floors = (release: number) => ({
  floors: { root: 1, site: 1, release, lease: 0, time: formatTime(addDays(NOW, -1)) },
});

const REPORTS = 12;
/** Report `index`, from 0, comes on this day. The first has two events, the others one. */
const dayOf = (index: number): Date => day(4 * index);
const LAST = dayOf(REPORTS - 1);

type Happens = (index: number) => Happening;
const another: Happens = (index) => step('abc'[index % 3] ?? '', dayOf(index));

/** An agent installs another package of the oven every fourth day, and reports it by stick; the press stays as it was. */
const reportedHub = (happens: Happens, reports = REPORTS) =>
  hubsAfter(async (hub) => {
    const agent = await enrolled(hub, 'plant-7/press-1');
    const stick = await hub.stick();
    const first = step('f', day(0), { assignment: 'press' });
    const lines = chain(agent, [first, ...Array.from({ length: reports }, (_, index) => happens(index))]);
    for (let index = 0; index < reports; index += 1) {
      await report(stick, agent, lines, index === 0 ? 1 : index + 2, index + 2, floors(index + 1));
      await hub.importFrom(stick, dayOf(index));
    }
    return { agent, lines };
  });

const reported = reportedHub(another);

const remove = (hub: TestHub, now = LAST) => applyRetention(hub, { days: 30, now, signal, share: 1 });

const states = (db: Database) =>
  Promise.all([
    db.selectFrom('assignment_state').selectAll().orderBy('assignment').execute(),
    db.selectFrom('agent_state').selectAll().execute(),
    db.selectFrom('agent').select(['head_seq', 'head_hash', 'first_seq', 'release_version']).execute(),
  ]);

const count = async (db: Database, table: 'event' | 'alarm' | 'history'): Promise<number> => {
  const { rows } = await db
    .selectFrom(table)
    .select(({ fn }) => fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow();
  return rows;
};

const NOTHING = {
  events: 0,
  reports: 0,
  changes: 0,
  media: 0,
  checks: 0,
  support: 0,
  versions: 0,
  rollouts: 0,
  values: 0,
};

describe('retention', () => {
  it('removes nothing while no agent was heard for a month, because the clock may be years ahead', async () => {
    await using hub = await reported();
    const before = await count(hub.store.db, 'event');
    expect(await remove(hub, addDays(LAST, 700))).toBeUndefined();
    expect(await count(hub.store.db, 'event')).toBe(before);
  });

  it('removes older rows, and keeps states, the chain, receipts and the newest value of each field', async () => {
    await using hub = await reported();
    const { agent, lines } = hub;
    const { db } = hub.store;
    const [before, changes] = [await states(db), await count(db, 'history')];
    const removed = await remove(hub);
    expect(removed).toMatchObject({ events: 5, reports: 2 });
    expect(await states(db)).toEqual(before);
    expect(await count(db, 'history')).toBe(changes - (removed?.changes ?? 0));
    const rows = () =>
      db.selectFrom('event').select(['seq', 'last_seq', 'type']).orderBy('seq').limit(2).execute();
    expect(await rows()).toEqual([
      { seq: 1, last_seq: 5, type: 'removed' },
      { seq: 6, last_seq: null, type: 'package' },
    ]);
    // Of the report about the press, and the one with the newest floors, the row stays.
    const reduced = db.selectFrom('report').select('last_seq').where('statement', '=', '').orderBy('number');
    expect(await reduced.execute()).toEqual([{ last_seq: 2 }, { last_seq: 5 }]);
    expect(await remove(hub)).toEqual(NOTHING);

    // Later reports continue the chain, and the agent's receipt covers all of it.
    const stick = await hub.stick('later');
    const more = chain(agent, [step('a', LAST)], 14, before[2][0]?.head_hash);
    await report(stick, agent, [...lines, ...more], 14, 14, floors(13));
    await hub.importFrom(stick, addDays(LAST, 1));
    expect(await receiptOn(stick, hub, agent)).toMatchObject({ from: 1, to: 14 });
    expect(await remove(hub, addDays(LAST, 20))).toMatchObject({ events: 5 });
    expect(await rows()).toMatchObject([{ seq: 1, last_seq: 10 }, { seq: 11 }]);
  });

  it('leaves one entry in the audit log for each round that removed something, with what it removed and why', async () => {
    await using hub = await reported();
    const removed = await remove(hub);
    await remove(hub);
    await appendChanges(hub, { command: 'test', now: LAST });
    const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
    const changes = entries.flatMap((entry) => (entry.kind === 'change' ? [entry.predicate] : []));
    expect(changes.filter(({ change }) => change === 'retention')).toMatchObject([
      {
        about: 'stored facts',
        person: null,
        reason: 'retention of 30 days',
        old: { ...removed },
        new: null,
        time: formatTime(LAST),
      },
    ]);
  });

  it('accepts a report of removed events as known, by the hashes at both ends of the removed range', async () => {
    await using hub = await reported();
    const { agent, lines } = hub;
    const { db } = hub.store;
    await remove(hub);
    const before = [await states(db), await count(db, 'history')];
    const again = await hub.stick('again');
    await report(again, agent, lines, 1, 13, floors(12));
    await hub.importFrom(again, LAST);
    expect([await states(db), await count(db, 'history')]).toEqual(before);
    expect(await count(db, 'alarm')).toBe(0);
    // Another history of the same agent: its fifth event is not the one that was removed last.
    const other = await hub.stick('other');
    const forged = chain(
      agent,
      Array.from({ length: 5 }, () => step('d', day(1))),
    );
    await report(other, agent, forged, 1, 5, floors(12));
    await hub.importFrom(other, LAST);
    expect(await db.selectFrom('alarm').select(['code', 'message']).execute()).toEqual([
      { code: 'REPORT_CHAIN', message: expect.stringContaining('event 5 is another') },
    ]);
  });

  it('keeps the events of a currently failing check', async () => {
    const fails = { type: 'check', outcome: 'failed', code: 'CHECK_FAILED', assignment: 'pump' } as const;
    const happens: Happens = (index) => (index === 1 ? step('a', dayOf(1), fails) : another(index));
    await using hub = await reportedHub(happens, 5)();
    expect(await remove(hub)).toMatchObject({ events: 2 });
  });

  it('keeps reports that the signer has not judged, and all reports of an agent whose event number went back', async () => {
    await using hub = await reported();
    const { store, agent } = hub;
    const life = { agent: agent.id, life: 1 };
    const before = formatTime(dayOf(6));
    expect(await trimLife(store, life, { before, judged: 0 })).toMatchObject({ events: 0 });
    expect(await trimLife(store, life, { before, judged: 3 })).toMatchObject({ events: 3 });
    expect(await restoreReports(store.db, { id: agent.id, life: 1, after: 3 })).toMatchObject({ lost: 0 });
    await store.db.updateTable('report').set({ floor_release: 99 }).where('last_seq', '=', 4).execute();
    expect(await trimLife(store, life, { before })).toMatchObject({ events: 0, reports: 0 });
  });

  it('reports removed facts only in answers about a removed period', async () => {
    await using hub = await reported();
    const page = { limit: 1000 };
    await remove(hub);
    const told = { removedUntil: formatTime(day(14)) };
    const where = async (at: Date, knownAt?: Date) => {
      const known = knownAt && formatTime(knownAt);
      const asked = { subject: {}, page, at: { at: formatTime(at), knownAt: known } };
      return (await answerWhere(hub, asked, LAST)).json;
    };
    expect(await where(day(5))).toMatchObject(told);
    expect(await where(LAST, day(5))).toMatchObject(told);
    expect(await where(day(20), day(20))).not.toHaveProperty('removedUntil');
    // What held at the beginning of what is kept is still known.
    expect(await where(day(15))).toMatchObject({
      agents: [{ running: [{ assignment: 'oven' }, { assignment: 'press', since: formatTime(day(0)) }] }],
    });
    const history = async (since?: Date) => {
      const span = { since: since && formatTime(since) };
      return await answerHistory(hub, { subject: {}, page, span }, LAST);
    };
    expect(formatLines((await history()).lines, undefined).join(' ')).toContain(
      `removed facts received before ${told.removedUntil}`,
    );
    expect((await history(day(15))).json).not.toHaveProperty('removedUntil');
  });

  it('a rebuild of the history does not undo it, because removed events cannot be replayed', async () => {
    await using hub = await reported();
    await remove(hub);
    const all = async () => [
      await states(hub.store.db),
      await hub.store.db.selectFrom('history').selectAll().execute(),
    ];
    const before = await all();
    await rebuildHistory(hub.store);
    expect(await all()).toEqual(before);
  });

  it('removes the contents of media that returned before the period', async () => {
    await using hub = await reported();
    const note = (received_at: string) => ({
      received_at,
      created_at: received_at,
      releases: '[]',
      sites: '[]',
    });
    await hub.store.db.deleteFrom('medium_return').execute();
    const times = [day(1), LAST].map(formatTime);
    await hub.store.db.insertInto('medium_return').values(times.map(note)).execute();
    expect(await remove(hub)).toMatchObject({ media: 1 });
    const left = await hub.store.db.selectFrom('medium_return').select('received_at').execute();
    expect(left).toEqual([{ received_at: times[1] }]);
  });

  it('removes results of checks about earlier candidates, and keeps those of the newest', async () => {
    await using hub = await reported();
    const { db } = hub.store;
    const answer = (id: string, environment: string, shared: string, at: Date) => ({
      id,
      environment,
      shared: digest(shared),
      state: 'passed' as const,
      message: '',
      at: formatTime(at),
      tries: 1,
      next_at: null,
      until: formatTime(at),
      signed_at: 1,
    });
    const answers = [
      answer('qa-first', 'qa', '1', day(0)),
      answer('qa-second', 'qa', '2', day(1)),
      answer('qa-second-too', 'qa', '2', day(1)),
      answer('prod', 'prod', '1', day(0)),
    ];
    await db.insertInto('gate_check').values(answers).execute();
    expect(await remove(hub)).toMatchObject({ checks: 1 });
    const left = await db.selectFrom('gate_check').select('id').orderBy('id').execute();
    expect(left.map(({ id }) => id)).toEqual(['prod', 'qa-second', 'qa-second-too']);
  });

  it('removes package names that no release, agent or kept change uses', async () => {
    await using hub = await reported();
    const { db } = hub.store;
    const name = (digit: string) => ({
      environment: 'prod',
      cluster_type: 'press',
      assignment: 'oven',
      package: digest(digit),
      workspace: null,
      workload: 'oven',
      version: digit,
      source_commit: null,
      wanted_by: null,
    });
    // Agents reported a, b, c and f.
    await db.insertInto('package_version').values(['a', 'd', 'f'].map(name)).execute();
    expect(await remove(hub)).toMatchObject({ versions: 1 });
    const left = await db.selectFrom('package_version').select('version').orderBy('version').execute();
    expect(left.map(({ version }) => version)).toEqual(['a', 'f']);
  });

  it('is given in days, at least 30', () => {
    expect(retentionDays('400d')).toBe(400);
    for (const text of ['29d', '1y', '0d', '400', '-30d'])
      expect(() => retentionDays(text)).toThrow(expect.objectContaining({ code: 'USAGE' }));
  });
});
