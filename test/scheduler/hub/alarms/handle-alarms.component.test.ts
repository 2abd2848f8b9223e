import { expect, test } from 'vitest';
import { parseJson } from '#bundles/json/parse-json';
import { addDays, formatTime } from '#bundles/time';
import { type Alarm, createAlarm } from '../../../../scheduler/hub/alarms/alarm.ts';
import {
  acknowledgeAlarms,
  endHandling,
  silenceAlarms,
} from '../../../../scheduler/hub/alarms/handle-alarms.ts';
import { keepAlarms } from '../../../../scheduler/hub/alarms/keep-alarms.ts';
import { listAlarms } from '../../../../scheduler/hub/alarms/list-alarms.ts';
import { listCauses } from '../../../../scheduler/hub/alarms/list-causes.ts';
import { listPast } from '../../../../scheduler/hub/alarms/list-past.ts';
import { pendingNotices } from '../../../../scheduler/hub/alarms/notice.ts';
import { readOpenAlarms } from '../../../../scheduler/hub/alarms/keep-alarms.ts';
import { readHandling } from '../../../../scheduler/hub/alarms/read-handling.ts';
import { NOW, testHub } from '../test-hub.ts';

const SINCE = '2026-11-20T08:00:00Z';
const PAGE = { limit: 100 };
const minutes = (count: number): Date => new Date(NOW.getTime() + count * 60_000);

const failedAt = (
  site: string,
  cause = 'CHECK_FAILED every-program-has-a-limit',
  workspace = 'labels',
): Alarm => ({
  ...createAlarm(
    'PACKAGE_FAILED',
    'critical',
    {
      site,
      agent: `${site}/press-1`,
      environment: 'prod',
      clusterType: 'press',
      workspace,
      assignment: 'kiosk',
    },
    SINCE,
    `kiosk failed at ${site}/press-1`,
  ),
  cause,
});

const TWELVE = Array.from({ length: 12 }, (_, index) => failedAt(`plant-${index + 1}`));
const LATE = createAlarm(
  'AGENT_LATE',
  'warning',
  { site: 'lab', agent: 'lab/rig', environment: 'qa' },
  SINCE,
  'late',
);

const openAlarms = async (alarms: readonly Alarm[] = [...TWELVE, LATE]) => {
  const hub = await testHub();
  await keepAlarms(hub.store, alarms, { now: NOW });
  const { db } = hub.store;
  const causes = (now = NOW) => listCauses(db, {}, PAGE, now);
  const by = (person: string, target: string, now = NOW) => ({
    target,
    person,
    reason: `${person} looks`,
    now,
  });
  return {
    store: hub.store,
    causes,
    causeId: async () => (await causes()).causes[0]?.id ?? '',
    by,
    changes: async () =>
      (await db.selectFrom('pending_change').select('change').orderBy('number').execute()).map(({ change }) =>
        parseJson(change),
      ),
    notices: async (now: Date, sent: Parameters<typeof pendingNotices>[2] = new Map()) =>
      pendingNotices(
        { severity: 'info', environments: undefined, workspaces: undefined },
        await readOpenAlarms(db),
        sent,
        { now, repeatMs: 3_600_000, handling: await readHandling(db, now) },
      ),
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
};

test('one cause at twelve sites is one row, the worst first, with its owner', async () => {
  await using hub = await openAlarms([LATE, ...TWELVE, failedAt('plant-1', 'CHECK_FAILED other', 'shop')]);
  const { total, alarms, causes } = await hub.causes();
  // The same package has one alarm: its newest cause counts.
  expect([total, alarms]).toEqual([3, 13]);
  expect(causes).toMatchObject([
    {
      kind: 'PACKAGE_FAILED',
      cause: 'CHECK_FAILED every-program-has-a-limit',
      severity: 'critical',
      alarms: 11,
      sites: 11,
      owner: 'labels',
      assignment: 'kiosk',
      firstSites: ['plant-10', 'plant-11', 'plant-12', 'plant-2', 'plant-3'],
      acknowledged: 0,
    },
    { cause: 'CHECK_FAILED other', owner: 'shop', alarms: 1 },
    { kind: 'AGENT_LATE', severity: 'warning', owner: null, environment: 'qa' },
  ]);
  const [first] = causes;
  const members = await listAlarms(hub.store.db, { cause: first?.id }, PAGE, NOW);
  expect(members.total).toBe(11);
  const one = await listCauses(hub.store.db, {}, { limit: 1 }, NOW);
  const two = await listCauses(hub.store.db, {}, { limit: 5, cursor: one.next ?? '' }, NOW);
  expect([...one.causes, ...two.causes]).toEqual(causes);
});

test('an acknowledgement stops repetitions, is in the notes for the audit log, and ends with the alarm', async () => {
  await using hub = await openAlarms();
  const cause = await hub.causeId();
  expect(await acknowledgeAlarms(hub.store, hub.by('mara', cause))).toMatchObject({
    alarms: 12,
    environment: 'prod',
  });
  expect((await hub.causes()).causes[0]).toMatchObject({ acknowledged: 12, by: { person: 'mara' } });
  expect(await hub.changes()).toMatchObject([
    {
      change: 'alarms acknowledge',
      about: cause,
      person: 'mara',
      reason: 'mara looks',
      new: { kind: 'PACKAGE_FAILED', alarms: 12 },
    },
  ]);
  // Two people at once: the second learns who was first, and nothing changes.
  await expect(acknowledgeAlarms(hub.store, hub.by('lena', cause))).rejects.toMatchObject({
    code: 'ALARM_HANDLED',
    message: expect.stringContaining('mara') as string,
  });
  const row = (await readOpenAlarms(hub.store.db))[0];
  const before = {
    receiver: 'desk',
    alarm: row?.id ?? '',
    opened_at: row?.opened_at ?? '',
    severity: 'critical',
  };
  const sent = new Map([
    [
      row?.id ?? '',
      {
        ...before,
        sent_at: SINCE,
        refused_what: null,
        refused_at: null,
        refusals: 0,
        next_at: null,
        refusal: null,
      },
    ],
  ]);
  const repeated = (handled: boolean) =>
    readHandling(hub.store.db, NOW).then((handling) =>
      pendingNotices(
        { severity: 'info', environments: undefined, workspaces: undefined },
        row ? [row] : [],
        sent,
        {
          now: NOW,
          repeatMs: 60_000,
          ...(handled ? { handling } : {}),
        },
      ).map(({ what }) => what),
    );
  expect([await repeated(false), await repeated(true)]).toEqual([['repeated'], []]);
  // Gone for long, and back: another episode, which nobody has acknowledged.
  await keepAlarms(hub.store, [LATE], { now: minutes(1) });
  await keepAlarms(hub.store, [...TWELVE, LATE], { now: minutes(20) });
  expect((await hub.causes(minutes(20))).causes[0]).toMatchObject({ alarms: 12, acknowledged: 0 });
  const past = await listPast(hub.store.db, {}, PAGE);
  expect(past.alarms).toHaveLength(12);
  expect(past.alarms[0]).toMatchObject({ acknowledgedBy: 'mara', goneAt: formatTime(minutes(1)) });
});

test('a silence stops notices of a cause, also at sites where it begins later, and ends at its time', async () => {
  await using hub = await openAlarms();
  const cause = await hub.causeId();
  await silenceAlarms(hub.store, { ...hub.by('mara', cause), until: minutes(60) });
  expect((await hub.notices(minutes(1))).map(({ alarm }) => alarm.kind)).toEqual(['AGENT_LATE']);
  await keepAlarms(hub.store, [...TWELVE, LATE, failedAt('plant-99')], { now: minutes(2) });
  expect((await hub.notices(minutes(2))).map(({ alarm }) => alarm.kind)).toEqual(['AGENT_LATE']);
  // Silent causes come last.
  expect((await hub.causes(minutes(2))).causes.map(({ kind, silenced }) => [kind, silenced])).toEqual([
    ['AGENT_LATE', 0],
    ['PACKAGE_FAILED', 13],
  ]);
  expect(await hub.notices(minutes(61))).toHaveLength(14);
  expect((await hub.causes(minutes(61))).causes[0]).toMatchObject({ silenced: 0, silence: null });
  // A receiver that has an alarm hears of its end during a silence.
  expect(await hub.changes()).toMatchObject([
    {
      change: 'alarms silence',
      new: { until: formatTime(minutes(60)), cause: 'CHECK_FAILED every-program-has-a-limit' },
    },
  ]);
});

test('a second silence is refused with the name of the first person; ending it is noted', async () => {
  await using hub = await openAlarms();
  const cause = await hub.causeId();
  const until = minutes(60);
  await silenceAlarms(hub.store, { ...hub.by('mara', cause), until });
  const [alarm] = TWELVE;
  for (const target of [cause, alarm?.id ?? ''])
    await expect(silenceAlarms(hub.store, { ...hub.by('lena', target), until })).rejects.toMatchObject({
      code: 'ALARM_HANDLED',
      message: expect.stringContaining('mara silenced this until') as string,
    });
  // Also when its alarms are over.
  await keepAlarms(hub.store, [LATE], { now: minutes(1) });
  await endHandling(hub.store, hub.by('lena', cause, minutes(2)));
  await expect(endHandling(hub.store, hub.by('lena', cause, minutes(3)))).rejects.toMatchObject({
    code: 'ALARM_MISSING',
  });
  expect((await hub.changes()).map((one) => (one as { change: string }).change)).toEqual([
    'alarms silence',
    'alarms end',
  ]);
});

test.each([
  ['the past', minutes(-1), 'USAGE', 'in the future'],
  ['now', NOW, 'USAGE', 'in the future'],
  ['for ever', addDays(NOW, 3650), 'USAGE', 'at most 90 days'],
  ['no time', new Date('never'), 'USAGE', 'in the future'],
])('a silence until %s is refused, and changes nothing', async (_, until, code, words) => {
  await using hub = await openAlarms();
  const asked = { ...hub.by('mara', await hub.causeId()), until };
  await expect(silenceAlarms(hub.store, asked)).rejects.toMatchObject({
    code,
    message: expect.stringContaining(words) as string,
  });
  expect(await hub.changes()).toEqual([]);
  expect(await hub.notices(NOW)).toHaveLength(13);
});

test('an unknown alarm, one that is over, an invisible one and an empty reason are refused', async () => {
  await using hub = await openAlarms();
  const [alarm] = TWELVE;
  const unknown = `alarm_${'0'.repeat(40)}`;
  const ofNone = (request: object) =>
    expect(acknowledgeAlarms(hub.store, { ...hub.by('mara', unknown), ...request })).rejects;
  await ofNone({}).toMatchObject({ code: 'ALARM_MISSING' });
  await ofNone({ target: alarm?.id, sees: () => false }).toMatchObject({ code: 'ALARM_MISSING' });
  await ofNone({ target: alarm?.id, reason: ' \n ' }).toMatchObject({ code: 'USAGE' });
  await ofNone({ target: alarm?.id, reason: 'x'.repeat(1001) }).toMatchObject({ code: 'USAGE' });
  await keepAlarms(hub.store, [LATE], { now: minutes(1) });
  await ofNone({ target: alarm?.id }).toMatchObject({ code: 'ALARM_MISSING' });
  expect(await hub.changes()).toEqual([]);
});

test('an alarm that is gone is listed with its time, and not while it only came and went', async () => {
  await using hub = await openAlarms();
  const past = async () =>
    (await listPast(hub.store.db, {}, PAGE)).alarms.map(({ kind, goneAt, acknowledgedBy }) => [
      kind,
      goneAt,
      acknowledgedBy,
    ]);
  await keepAlarms(hub.store, TWELVE, { now: minutes(1) });
  expect(await past()).toEqual([['AGENT_LATE', formatTime(minutes(1)), null]]);
  await keepAlarms(hub.store, [...TWELVE, LATE], { now: minutes(3) });
  expect(await past()).toEqual([]);
  await keepAlarms(hub.store, TWELVE, { now: minutes(4) });
  await keepAlarms(hub.store, [...TWELVE, LATE], { now: minutes(20) });
  expect(await past()).toEqual([['AGENT_LATE', formatTime(minutes(4)), null]]);
  // Pages, the newest first.
  await keepAlarms(hub.store, [], { now: minutes(30) });
  const first = await listPast(hub.store.db, {}, { limit: 5 });
  const second = await listPast(hub.store.db, {}, { limit: 100, cursor: first.next ?? '' });
  expect([first.alarms.length, second.alarms.length, second.next]).toEqual([5, 9, null]);
  expect(await listPast(hub.store.db, { site: 'lab' }, PAGE)).toMatchObject({ alarms: [{}, {}] });
  expect((await listPast(hub.store.db, { workspace: 'labels' }, PAGE)).alarms).toHaveLength(12);
  expect((await listPast(hub.store.db, { workspace: 'paint' }, PAGE)).alarms).toEqual([]);
  // Three months later the list is empty.
  await keepAlarms(hub.store, [LATE], { now: addDays(NOW, 100) });
  await keepAlarms(hub.store, [], { now: addDays(NOW, 101) });
  expect((await listPast(hub.store.db, {}, PAGE)).alarms).toHaveLength(1);
});
