import { expect, test } from 'vitest';
import { compareBytes } from '#bundles/digest';
import { createAlarm } from '../../../../scheduler/hub/alarms/alarm.ts';
import {
  forgetAlarms,
  GONE_MS,
  keepAlarms,
  readOpenAlarms,
} from '../../../../scheduler/hub/alarms/keep-alarms.ts';
import { type AlarmFilter, pendingNotices, sentOf } from '../../../../scheduler/hub/alarms/notice.ts';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import type { Severity } from '../../../../scheduler/model/severity.ts';
import { FLEET, NOW, testHub } from '../test-hub.ts';

const MINUTE = 60_000;
const REPEAT_MS = 60 * MINUTE;
const ALL: AlarmFilter = { severity: 'info', environments: undefined, workspaces: undefined };

const late = (agent: string, severity: Severity = 'warning', since = '2026-11-20T08:00:00Z') =>
  createAlarm('AGENT_LATE', severity, { agent, environment: 'prod' }, since, `${agent} is late`);

/** A hub whose clock the test moves, and one receiver of everything. */
const open = async () => {
  const hub = await testHub();
  let { store } = hub;
  let now = NOW;
  const keep = (...alarms: readonly ReturnType<typeof late>[]) => keepAlarms(store, alarms, { now, most: 3 });
  const receive = async (filter = ALL, name = 'desk') => {
    const rows = await store.db.selectFrom('alarm_sent').selectAll().where('receiver', '=', name).execute();
    const sent = new Map(rows.map((row) => [row.alarm, row]));
    const notices = pendingNotices(filter, await readOpenAlarms(store.db), sent, {
      now,
      repeatMs: REPEAT_MS,
    });
    for (const notice of notices) {
      await store.db
        .deleteFrom('alarm_sent')
        .where('receiver', '=', name)
        .where('alarm', '=', notice.alarm.id)
        .execute();
      const row = sentOf(name, notice, now);
      if (row) await store.db.insertInto('alarm_sent').values(row).execute();
    }
    return notices;
  };
  return {
    keep,
    receive,
    said: async (filter = ALL, name = 'desk') =>
      (await receive(filter, name)).map(
        ({ what, alarm }) => `${what} ${alarm.severity} ${alarm.subject.agent}`,
      ),
    forget: (...names: readonly string[]) => forgetAlarms(store, names, now),
    rows: () => readOpenAlarms(store.db),
    pass: (ms: number) => {
      now = new Date(now.getTime() + ms);
    },
    restart: async () => {
      await store[Symbol.asyncDispose]();
      store = await openStore(hub.db, FLEET);
    },
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await hub[Symbol.asyncDispose]();
    },
  };
};

test('an alarm is opened once, repeated at its interval and resolved once, across restarts', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  expect(await hub.said()).toEqual(['opened warning a']);
  await hub.restart();
  await hub.keep(late('a'));
  expect(await hub.said()).toEqual([]);
  hub.pass(REPEAT_MS);
  await hub.keep(late('a'));
  expect(await hub.said()).toEqual(['repeated warning a']);
  await hub.restart();
  expect(await hub.said()).toEqual([]);
  await hub.keep();
  hub.pass(GONE_MS);
  await hub.keep();
  expect(await hub.said()).toEqual(['resolved warning a']);
  await hub.restart();
  expect(await hub.said()).toEqual([]);
  await hub.forget('desk');
  expect(await hub.rows()).toEqual([]);
});

test('start and episode stay while the condition lasts, and only a higher severity is a new notice', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  await hub.receive();
  const [before] = await hub.rows();
  hub.pass(MINUTE);
  await hub.keep(late('a', 'critical', '2026-11-21T00:00:00Z'));
  expect(await hub.said()).toEqual(['worsened critical a']);
  const [after] = await hub.rows();
  expect(after).toMatchObject({ since: before?.since, opened_at: before?.opened_at, severity: 'critical' });
  await hub.keep(late('a', 'warning'));
  expect(await hub.said()).toEqual([]);
});

test('a condition that ends and returns within minutes stays one alarm', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  expect(await hub.said()).toEqual(['opened warning a']);
  for (let times = 0; times < 3; times++) {
    hub.pass(GONE_MS / 2);
    await hub.keep();
    hub.pass(MINUTE);
    await hub.keep(late('a'));
    expect(await hub.said()).toEqual([]);
  }
});

test('an alarm that returns after it was resolved is a new episode', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  const [first] = await hub.receive();
  await hub.keep();
  hub.pass(GONE_MS);
  const { over } = await hub.keep();
  expect(over.map(({ summary }) => summary)).toEqual(['a is late']);
  const { opened } = await hub.keep(late('a'));
  expect(opened).toHaveLength(1);
  const [second] = await hub.receive();
  expect([second?.what, second?.alarm.id === first?.alarm.id, second?.id === first?.id]).toEqual([
    'opened',
    true,
    false,
  ]);
});

test('a receiver that was unreachable gets the newest state of each alarm, and nothing about alarms that came and went', async () => {
  await using hub = await open();
  await hub.keep(late('a'), late('b'));
  expect(await hub.said(ALL, 'other')).toHaveLength(2);
  await hub.keep(late('a', 'critical'));
  hub.pass(GONE_MS);
  await hub.keep(late('a', 'critical'));
  expect(await hub.said()).toEqual(['opened critical a']);
  expect(await hub.said(ALL, 'other')).toEqual(['worsened critical a', 'resolved warning b']);
});

test('a notice keeps its id until it is delivered', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  const rows = await hub.rows();
  const again = () => pendingNotices(ALL, rows, new Map(), { now: NOW, repeatMs: REPEAT_MS });
  expect(again()).toEqual(again());
  expect(again()).toEqual(await hub.receive());
  hub.pass(REPEAT_MS);
  const [repeated] = await hub.receive();
  expect(repeated?.what).toBe('repeated');
  expect(repeated?.id).not.toBe(again()[0]?.id);
});

test('a receiver gets the severities, environments and workspaces of its configuration, the worst first', async () => {
  await using hub = await open();
  const root = createAlarm('ROOT_ENDS', 'warning', {}, '2026-11-20T08:00:00Z', 'root');
  const failed = createAlarm(
    'PACKAGE_FAILED',
    'critical',
    { agent: 'b', environment: 'qa', workspace: 'shop' },
    '2026-11-20T08:00:00Z',
    'failed',
  );
  await hub.keep(late('a', 'info'), root, failed);
  const kinds = async (filter: Partial<AlarmFilter>, name: string) =>
    (await hub.receive({ ...ALL, ...filter }, name)).map(({ alarm }) => alarm.kind);
  expect(await kinds({}, 'all')).toEqual(['PACKAGE_FAILED', 'ROOT_ENDS', 'AGENT_LATE']);
  expect(await kinds({ severity: 'critical' }, 'one')).toEqual(['PACKAGE_FAILED']);
  expect(await kinds({ environments: ['prod'] }, 'two')).toEqual(['AGENT_LATE']);
  expect(await kinds({ workspaces: ['shop'] }, 'three')).toEqual(['PACKAGE_FAILED']);
  expect(await kinds({ workspaces: ['other'] }, 'four')).toEqual([]);
});

test('above the limit open alarms stay, then the most severe are opened, and one alarm counts the rest', async () => {
  await using hub = await open();
  await hub.keep(late('a'), late('b'));
  await hub.keep(late('c'), late('d', 'critical'), late('e'), late('b'), late('a'));
  expect((await hub.rows()).map(({ summary }) => summary).toSorted(compareBytes)).toEqual([
    '2 more alarms are not opened: 3 are open',
    'a is late',
    'b is late',
    'd is late',
  ]);
});

test('a removed receiver is deleted, and no longer delays the deletion of resolved alarms', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  await hub.receive(ALL, 'former');
  await hub.keep();
  hub.pass(GONE_MS);
  await hub.keep();
  await hub.forget('desk', 'former');
  expect(await hub.rows()).toHaveLength(1);
  await hub.forget('desk');
  expect(await hub.rows()).toEqual([]);
});

test('a resolved alarm is deleted after a week, even if a receiver is unreachable', async () => {
  await using hub = await open();
  await hub.keep(late('a'));
  await hub.receive();
  await hub.keep();
  hub.pass(8 * 24 * 60 * MINUTE);
  await hub.keep();
  expect(await hub.rows()).toEqual([]);
  expect(await hub.said()).toEqual([]);
});

test('a round without changes writes nothing', async () => {
  await using hub = await open();
  const alarms = [late('a'), late('b')];
  await hub.keep(...alarms);
  const before = await hub.rows();
  const changes = await hub.keep(...alarms);
  expect(changes).toEqual({ opened: [], over: [] });
  expect(await hub.rows()).toEqual(before);
});
