import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { compactedSpan, type DroppedCount } from '#bundles/formats/events/compacted';
import type { Event } from '#bundles/formats/events/event';
import { verifyReport } from '#bundles/trust/reports/report';
import { loadKey } from '../../../../agent/hub/agent-key.ts';
import { exportReports } from '../../../../agent/report/export-reports.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { acknowledge } from '../../../../agent/store/outbox/acknowledge.ts';
import { compactOutbox } from '../../../../agent/store/outbox/compact-outbox.ts';
import { appendEvent, type NewEvent, outboxSize, readOutbox } from '../../../../agent/store/outbox/outbox.ts';
import { addDays } from '#bundles/time';
import { agentKey, createWorld, NOW, onePackage, testEdge, type World } from '../../world.ts';
import { LONG } from '../../../harness/run/long.ts';

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as const;
const package_ = { package: digest('a'), siteValues: digest('b') };
const drift: NewEvent = {
  type: 'drift',
  assignment: 'app',
  ...package_,
  code: 'DRIFT',
  message: '1 object differs from the package',
  detail: { drift: [{ key: 'file:/opt/app', what: 'content', message: '/opt/app has other content' }] },
};
const corrected: NewEvent = { type: 'corrected', assignment: 'app', ...package_, outcome: 'configured' };
const failed: NewEvent = {
  type: 'package',
  assignment: 'web',
  ...package_,
  outcome: 'failed',
  code: 'CHECK_FAILED',
  message: 'web: /usr/bin/check ended with 1',
};

const tell = (agent: Agent, happenings: readonly NewEvent[]): void =>
  agent.state.db.transaction(() => {
    for (const happening of happenings) appendEvent(agent, happening);
  })();

const repeat = (count: number, ...happenings: readonly NewEvent[]): readonly NewEvent[] =>
  Array.from({ length: count }, () => happenings).flat();

/** The agent with a budget that every outbox exceeds. */
const tight = ({ agent }: World, more: Partial<Agent> = {}): Agent => ({
  ...agent,
  policy: { ...agent.policy, outboxBytes: 1 },
  ...more,
});

const typesOf = ({ state }: Agent) => readOutbox(state).map(({ line }) => (JSON.parse(line) as Event).type);

const countsOf = ({ state }: Agent): readonly DroppedCount[] =>
  readOutbox(state).flatMap(
    ({ line }) => ((JSON.parse(line) as Event).detail?.['counts'] ?? []) as unknown as DroppedCount[],
  );

const total = (counts: readonly DroppedCount[]) => counts.reduce((sum, { events }) => sum + events, 0);

/** Report over everything in the outbox, through the signature check of the hub. */
const exported = async (world: World) => {
  const stick = join(world.folder, `stick-${readOutbox(world.agent.state).length}`);
  await mkdir(stick);
  const found = [];
  for (const { files } of await exportReports(world.agent, await loadKey(world.agent), stick)) {
    const [events, statement] = await Promise.all(files.map((file) => readFile(join(stick, file))));
    if (!events || !statement) throw new Error('no files');
    found.push(verifyReport({ events, statement }, agentKey(world.agent), 'the report'));
  }
  return found;
};

describe('an outbox above its budget', () => {
  it('keeps the first and the last of repeated events, and counts the others', async () => {
    await using world = await createWorld();
    tell(world.agent, repeat(50, drift, corrected));
    expect(compactOutbox(tight(world))).toBe(95);
    expect(typesOf(world.agent)).toEqual([
      'enrolled',
      'drift',
      'corrected',
      'compacted',
      'drift',
      'corrected',
    ]);
    expect(countsOf(world.agent)).toEqual([
      { assignment: 'app', type: 'drift', code: 'DRIFT', events: 48 },
      { assignment: 'app', type: 'corrected', outcome: 'configured', events: 48 },
    ]);
    expect(outboxSize(world.agent.state)).toMatchObject({ events: 6, from: 1, to: 101 });
  });

  it('adds to the counts when it is compacted again', async () => {
    await using world = await createWorld();
    for (let round = 0; round < 5; round++) {
      tell(world.agent, repeat(20, drift, corrected));
      compactOutbox(tight(world));
    }
    expect(typesOf(world.agent)).toHaveLength(6);
    expect(total(countsOf(world.agent))).toBe(5 * 40 - 4);
  });

  it('keeps every change and the first and last of each failure between changes', async () => {
    await using world = await createWorld();
    const applied: NewEvent = {
      ...failed,
      outcome: 'configured',
      code: undefined,
      message: undefined,
    } as never;
    const { code: _, message: __, ...change } = applied;
    const story = [
      ...repeat(9, failed),
      change,
      ...repeat(9, failed),
      { type: 'imported' },
      ...repeat(9, failed),
    ];
    tell(world.agent, story);
    compactOutbox(tight(world));
    const lines = readOutbox(world.agent.state).map(({ line }) => JSON.parse(line) as Event);
    expect(lines.filter(({ outcome }) => outcome === 'configured')).toHaveLength(1);
    expect(lines.filter(({ type }) => type === 'imported')).toHaveLength(1);
    expect(lines.filter(({ outcome }) => outcome === 'failed')).toHaveLength(4);
    expect(total(countsOf(world.agent))).toBe(27 - 4);
  });

  it('keeps the first and the last failure and recovery of a flapping service, although the counter in its messages grows', async () => {
    await using world = await createWorld();
    const flap = (round: number): readonly NewEvent[] => {
      const message = `web: web.service restarted ${round} time(s) and is activating (exit-code)`;
      return [
        { ...failed, message },
        { ...failed, type: 'check', message },
        {
          type: 'package',
          assignment: 'web',
          ...package_,
          outcome: 'unchanged',
          message: 'the package is healthy again',
        },
        { type: 'check', assignment: 'web', ...package_, message: '1 of 1 checks passed, 0 skipped' },
      ];
    };
    tell(world.agent, Array.from({ length: 50 }, (_, round) => flap(round)).flat());
    compactOutbox(tight(world));
    const story = ['package', 'check', 'package', 'check'];
    expect(typesOf(world.agent)).toEqual(['enrolled', ...story, 'compacted', ...story]);
    expect(total(countsOf(world.agent))).toBe(50 * 4 - 8);
    const other: NewEvent = { ...failed, code: 'DISK_FULL', message: 'no room' };
    tell(world.agent, [other, ...flap(51), other]);
    compactOutbox(tight(world));
    expect(typesOf(world.agent)).toHaveLength(10 + 6);
  });

  it('is not compacted within its budget, nor again before it has grown', async () => {
    await using world = await createWorld();
    tell(world.agent, repeat(50, drift, corrected));
    expect(compactOutbox(world.agent)).toBe(0);
    const points: string[] = [];
    const changes = Array.from(
      { length: 40 },
      (_, index): NewEvent => ({ type: 'imported', message: `${index}` }),
    );
    const agent: Agent = {
      ...world.agent,
      policy: { ...world.agent.policy, outboxBytes: 10_000 },
      onJournal: (point) => void points.push(point),
    };
    tell(agent, changes);
    compactOutbox(agent);
    tell(agent, [drift]);
    compactOutbox(agent);
    expect(points).toEqual(['outbox compacted']);
  });

  it('is reported as one signed chain', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    tell(world.agent, repeat(50, drift, corrected));
    const [before] = await exported(world);
    compactOutbox(tight(world));
    const [after] = await exported(world);
    expect(after?.predicate).toMatchObject({
      from: before?.predicate.from,
      to: before?.predicate.to,
      firstPrev: before?.predicate.firstPrev,
      lastHash: before?.predicate.lastHash,
    });
    expect(after?.spans.some(({ seq, to }) => to - seq === 95)).toBe(true);
    expect(after?.spans.length).toBeLessThan(before?.spans.length ?? 0);
  });

  it('a receipt at the end of a run or after it acknowledges the run; a receipt inside it does not', async () => {
    await using world = await createWorld();
    tell(world.agent, repeat(50, drift, corrected));
    const originals = readOutbox(world.agent.state);
    compactOutbox(tight(world));
    const receiptFor = (to: number) => ({
      fleet: world.fleet.name,
      agent: 'plant-7/kiosk-1',
      from: 1,
      to,
      head: originals[to - 1]?.hash ?? digest('0'),
      time: '2026-11-22T08:00:00Z',
    });
    expect(acknowledge(world.agent, [receiptFor(50)], { tell: false })).toEqual({
      events: 0,
      contradicting: 0,
    });
    expect(acknowledge(world.agent, [receiptFor(99)], { tell: false })).toEqual({
      events: 4,
      contradicting: 0,
    });
    expect(outboxSize(world.agent.state)).toMatchObject({ from: 100, to: 101 });
  });

  it('is compacted or unchanged when it is killed, and can be continued in either case', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    tell(world.agent, repeat(50, drift, corrected));
    const all = outboxSize(world.agent.state).to ?? 0;
    const { db } = world.agent.state;
    for (const step of ['DELETE', 'INSERT', 'UPDATE']) {
      const before = readOutbox(world.agent.state);
      const table = step === 'UPDATE' ? 'condition' : 'outbox';
      const event = step === 'UPDATE' ? 'INSERT' : step;
      db.exec(
        `CREATE TEMP TRIGGER killed BEFORE ${event} ON ${table} BEGIN SELECT RAISE(ABORT, 'killed'); END`,
      );
      expect(() => compactOutbox(tight(world))).toThrow('killed');
      db.exec('DROP TRIGGER killed');
      expect(readOutbox(world.agent.state)).toEqual(before);
    }
    const onJournal = (): void => {
      throw new FleetError('ABORTED', 'the test stops here');
    };
    expect(() => compactOutbox(tight(world, { onJournal }))).toThrow();
    tell(world.agent, [drift, corrected]);
    const [report] = await exported(world);
    expect(report?.predicate).toMatchObject({ from: 1, to: all + 2 });
  });

  it('compactedSpan returns the events that a line stands for, or refuses the line', () => {
    const event = { seq: 5, prev: digest('a') };
    expect(compactedSpan({ ...event, detail: { to: 9, lastHash: digest('b') } })).toEqual({
      ...event,
      to: 9,
      hash: digest('b'),
    });
    const wrong: readonly NonNullable<Event['detail']>[] = [
      {},
      { to: 4, lastHash: digest('b') },
      { to: 9 },
      { to: 9, lastHash: 'x' },
      { to: 9.5, lastHash: digest('b') },
    ];
    for (const detail of wrong) expect(compactedSpan({ ...event, detail })).toBeUndefined();
  });
});

/** 61 days fill the budget several times. */
const DAYS = LONG ? 365 : 61;
const VISITS = Math.ceil(DAYS / 30);

it(`stays within its budget for ${DAYS} days without a hub, with a drift every six hours and a failure every hour`, async () => {
  await using world = await createWorld();
  const budget = 64 << 10;
  const { state } = world.agent;
  let largest = 0;
  for (let day = 0; day < DAYS; day++) {
    const agent: Agent = {
      ...world.agent,
      edge: testEdge(addDays(NOW, day)),
      policy: { ...world.agent.policy, outboxBytes: budget },
    };
    const visit: readonly NewEvent[] = day % 30 === 0 ? [{ type: 'imported', message: `${day}` }] : [];
    tell(agent, [...visit, ...repeat(4, drift, corrected), ...repeat(24, failed)]);
    compactOutbox(agent);
    largest = Math.max(largest, outboxSize(state).bytes);
  }
  expect(largest).toBeLessThan(budget);
  expect(outboxSize(state).to).toBe(1 + DAYS * 32 + VISITS);
  expect(typesOf(world.agent).filter((type) => type === 'imported')).toHaveLength(VISITS);
  expect(
    total(countsOf(world.agent)) + typesOf(world.agent).filter((type) => type !== 'compacted').length,
  ).toBe(1 + DAYS * 32 + VISITS);
});
