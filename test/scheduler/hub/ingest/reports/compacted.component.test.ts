import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '#bundles/json/parse-json';
import type { Event } from '#bundles/formats/events/event';
import { hashLine } from '#bundles/formats/events/event';
import { type SignedReport, signReport } from '#bundles/trust/reports/report';
import { addDays, formatTime } from '#bundles/time';
import type { OutboxLine } from '../../../../../agent/store/outbox/outbox.ts';
import { planCompaction } from '../../../../../agent/store/outbox/plan-compaction.ts';
import { acknowledge } from '../../../../../scheduler/hub/ingest/reports/acknowledge.ts';
import { emptyState, foldEvent } from '../../../../../scheduler/hub/ingest/reports/fold-event.ts';
import { ingestReport } from '../../../../../scheduler/hub/ingest/reports/ingest-report.ts';
import { restoreReports } from '../../../../../scheduler/hub/ingest/reports/restore-reports.ts';
import { judgeReport } from '../../../../../scheduler/hub/ingest/reports/judge-report.ts';
import { readActual } from '../../../../../scheduler/hub/questions/state/read-actual.ts';
import {
  chain,
  enrolledHub,
  FLEET,
  type Happening,
  NOW,
  type TestAgent,
  testAgent,
  type TestHub,
} from '../../test-hub.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as const;
const about = { assignment: 'oven', package: digest('a') };
const KINDS: readonly Happening[] = [
  { type: 'drift', ...about, code: 'DRIFT', message: '1 object differs' },
  { type: 'drift', ...about, outcome: 'unchanged' },
  { type: 'corrected', ...about, outcome: 'configured' },
  { type: 'check', ...about },
  { type: 'check', ...about, outcome: 'failed', code: 'CHECK_FAILED', message: 'web: no answer' },
  { type: 'package', ...about, outcome: 'failed', code: 'APPLY_FAILED', message: 'no room' },
  { type: 'package', ...about, outcome: 'configured' },
  { type: 'package', ...about, package: digest('b'), outcome: 'configured' },
  { type: 'rolled-back', ...about, outcome: 'configured', message: 'by hand' },
  { type: 'drift', ...about, assignment: 'door', code: 'DRIFT', message: '1 object differs' },
  { type: 'corrected', ...about, assignment: 'door', outcome: 'configured' },
  { type: 'imported' },
  { type: 'receipt' },
];

const outboxOf = (lines: readonly string[]): readonly OutboxLine[] =>
  lines.map((line, index) => ({ seq: index + 1, lastSeq: index + 1, hash: hashLine(line), line }));

const compacted = (outbox: readonly OutboxLine[]): readonly OutboxLine[] =>
  planCompaction(outbox).reduce<readonly OutboxLine[]>(
    (lines, { replacement }) =>
      [
        ...lines.filter(({ seq }) => seq < replacement.seq || seq > replacement.lastSeq),
        replacement,
      ].toSorted((a, b) => a.seq - b.seq),
    outbox,
  );

const eventsOf = (outbox: readonly OutboxLine[]): readonly Event[] =>
  outbox.map(({ line }) => parseJson(line) as Event);

const stateOf = (events: readonly Event[]) =>
  ['oven', 'door'].map((assignment) =>
    events
      .filter((event) => event.assignment === assignment)
      .reduce(
        (state, event) => foldEvent(state, event, digest('f')),
        emptyState('plant-7/press-1', assignment),
      ),
  );

/** What ran and with which result, each change once: what `history` shows. */
const changesOf = (events: readonly Event[]): readonly string[] => {
  const changes: string[] = [];
  for (const assignment of ['oven', 'door']) {
    let state = emptyState('plant-7/press-1', assignment);
    let before = '';
    for (const event of events.filter((one) => one.assignment === assignment)) {
      state = foldEvent(state, event, digest('f'));
      const now = JSON.stringify([
        state.package,
        state.outcome,
        state.outcome_type,
        state.code,
        state.message,
      ]);
      if (now !== before) changes.push(`${assignment} ${event.seq} ${now}`);
      before = now;
    }
  }
  return changes;
};

const story = fc.array(fc.nat(KINDS.length - 1), { maxLength: 60 });
const linesOf = (agent: TestAgent, kinds: readonly number[]) =>
  chain(
    agent,
    kinds.flatMap((kind) => KINDS[kind] ?? []),
  );

describe('the state that follows from events', () => {
  it('and the history are the same with and without compaction, for any point of compaction', () => {
    const agent = testAgent('plant-7/press-1');
    fc.assert(
      fc.property(story, fc.nat(60), (kinds, cut) => {
        const all = outboxOf(linesOf(agent, kinds));
        const first = compacted(all.slice(0, cut));
        for (const outbox of [compacted(all), compacted([...first, ...all.slice(cut)])]) {
          expect(stateOf(eventsOf(outbox))).toEqual(stateOf(eventsOf(all)));
          expect(changesOf(eventsOf(outbox))).toEqual(changesOf(eventsOf(all)));
          expect(outbox.at(-1)?.lastSeq).toBe(all.at(-1)?.lastSeq);
          expect(outbox.at(-1)?.hash).toBe(all.at(-1)?.hash);
        }
      }),
    );
  });
});

const reportOf = (agent: TestAgent, outbox: readonly OutboxLine[]): Promise<SignedReport> => {
  const [first, last] = [outbox[0], outbox.at(-1)];
  if (!first || !last) throw new Error('no events');
  return signReport(
    Buffer.from(outbox.map(({ line }) => `${line}\n`).join('')),
    {
      fleet: FLEET,
      agent: agent.id,
      from: first.seq,
      to: last.lastSeq,
      firstPrev: (parseJson(first.line) as Event).prev,
      lastHash: last.hash,
      bootId: 'boot-1',
      time: formatTime(NOW),
      clockTrusted: true,
      floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(addDays(NOW, -1)) },
      holds: [],
    },
    agent.key,
  );
};

/** Takes the report of some lines. @returns number of the last event that the receipt acknowledges */
const take = async (
  hub: TestHub & { readonly agent: TestAgent },
  outbox: readonly OutboxLine[],
): Promise<number> => {
  const row = await hub.store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
  const judged = judgeReport(await reportOf(hub.agent, outbox), row, FLEET, 'a report');
  const { apart } = await ingestReport(hub.store, judged, row, { source: 'stick', now: NOW });
  expect(apart).toBeUndefined();
  const key = await hub.keys.key('receipt');
  const receipt = await acknowledge(hub.store, hub.agent.id, { root: hub.keys.root, key, now: NOW });
  return receipt?.to_seq ?? 0;
};

const stored = async (hub: TestHub): Promise<readonly string[]> => {
  const rows = await hub.store.db.selectFrom('event').selectAll().orderBy('seq').execute();
  return rows.map(({ seq, last_seq: last, type }) => `${last === null ? seq : `${seq}-${last}`} ${type}`);
};

/** 40 events of drift and correction, and what compaction leaves: 1, 2, 3-38, 39, 40. */
const drifting = (agent: TestAgent) =>
  outboxOf(
    linesOf(
      agent,
      Array.from({ length: 40 }, (_, at) => (at % 2) * 2),
    ),
  );

describe('a hub that receives compacted runs', () => {
  it('stores a compacted run as part of the chain, and its receipt covers it', async () => {
    await using hub = await enrolledHub();
    const outbox = compacted(drifting(hub.agent));
    expect(await take(hub, outbox)).toBe(40);
    expect(await stored(hub)).toEqual([
      '1 drift',
      '2 corrected',
      '3-38 compacted',
      '39 drift',
      '40 corrected',
    ]);
    expect((await readActual(hub.store.db, {}, NOW)).gaps).toEqual([]);
    expect(await take(hub, outbox)).toBe(40);
    expect(await stored(hub)).toHaveLength(5);
  });

  it('keeps events that arrived before their run was compacted, and stores the run for the rest', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    expect(await take(hub, all.slice(0, 10))).toBe(10);
    expect(await take(hub, all.slice(19, 22))).toBe(10);
    expect(await take(hub, compacted(all))).toBe(40);
    const rows = await stored(hub);
    expect(rows.filter((row) => row.endsWith('compacted'))).toEqual(['11-19 compacted', '23-38 compacted']);
    expect(rows).toHaveLength(2 + 10 + 3 + 2);
  });

  it('completes a stored run with late events, in any order', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    await take(hub, compacted(all));
    expect(await take(hub, all.slice(19, 22))).toBe(40);
    expect((await stored(hub)).filter((row) => row.endsWith('compacted'))).toEqual([
      '3-19 compacted',
      '23-38 compacted',
    ]);
    expect(await take(hub, all)).toBe(40);
    expect((await stored(hub)).filter((row) => row.endsWith('compacted'))).toEqual([]);
    expect(await stored(hub)).toHaveLength(40);
  });

  it('shows the gaps around a run, and closes them', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    const [first, second, run, last] = compacted(all);
    if (!first || !second || !run || !last) throw new Error('not compacted');
    expect(await take(hub, [first])).toBe(1);
    expect(await take(hub, [run])).toBe(1);
    expect((await readActual(hub.store.db, {}, NOW)).gaps).toMatchObject([{ gaps: [{ from: 2, to: 2 }] }]);
    expect(await take(hub, [second])).toBe(38);
    expect(await take(hub, all.slice(39))).toBe(38);
    expect((await readActual(hub.store.db, {}, NOW)).gaps).toMatchObject([{ gaps: [{ from: 39, to: 39 }] }]);
    expect(await take(hub, [last])).toBe(40);
  });

  it('stores a report separately when its run ends in another event than the stored one', async () => {
    await using hub = await enrolledHub();
    await take(hub, compacted(drifting(hub.agent)));
    const other = outboxOf(
      linesOf(
        hub.agent,
        Array.from({ length: 40 }, (_, at) => (at % 2 === 0 ? 0 : 1)),
      ),
    );
    const row = await hub.store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
    const judged = judgeReport(await reportOf(hub.agent, compacted(other)), row, FLEET, 'a report');
    const { apart } = await ingestReport(hub.store, judged, row, { source: 'stick', now: NOW });
    expect(apart?.code).toBe('REPORT_CHAIN');
  });

  it('refuses a run that does not name the events it replaces', async () => {
    await using hub = await enrolledHub();
    const row = await hub.store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
    const lines = outboxOf(chain(hub.agent, [{ type: 'compacted', detail: { to: 0 } }]));
    const report = await reportOf(hub.agent, lines);
    expect(() => judgeReport(report, row, FLEET, 'a report')).toThrow(
      /does not name the events that it replaces/,
    );
  });
});

describe('the reports that a hub restores for the signer', () => {
  const restored = async ({ store }: TestHub, after = 0) => {
    const { id, life } = await store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
    const { reports, lost } = await restoreReports(store.db, { id, life, after });
    return { texts: reports.map(({ events }) => events.toString()), lost };
  };
  const textOf = (outbox: readonly OutboxLine[]): string => outbox.map(({ line }) => `${line}\n`).join('');

  it('have the signed bytes when a run is stored in parts between events of others', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    const parts = [all.slice(0, 10), all.slice(19, 22), compacted(all)];
    for (const part of parts) await take(hub, part);
    expect(await restored(hub)).toEqual({ texts: parts.map(textOf), lost: 0 });
    expect(await restored(hub, 22)).toEqual({ texts: [textOf(compacted(all))], lost: 0 });
  });

  it('have the signed bytes when events arrived late into a run', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    for (const part of [compacted(all), all.slice(19, 22)]) await take(hub, part);
    expect(await restored(hub)).toEqual({
      texts: [textOf(all.slice(19, 22)), textOf(compacted(all))],
      lost: 0,
    });
  });

  it('are counted as lost when their run was completed, and the completing report is restored', async () => {
    await using hub = await enrolledHub();
    const all = drifting(hub.agent);
    for (const part of [compacted(all), all]) await take(hub, part);
    expect(await restored(hub)).toEqual({ texts: [textOf(all)], lost: 1 });
  });
});
