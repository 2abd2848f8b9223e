import { expect, test } from 'vitest';
import type { AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import { type AlarmKind, createAlarm } from '../../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../../scheduler/hub/alarms/keep-alarms.ts';
import { listAlarms } from '../../../../scheduler/hub/alarms/list-alarms.ts';
import type { Visible } from '../../../../scheduler/hub/people/visible.ts';
import { NOW, testHub } from '../test-hub.ts';

const SINCE = '2026-11-20T08:00:00Z';

const open = async () => {
  const hub = await testHub();
  const raise = (kind: AlarmKind, subject: AlarmSubject) =>
    createAlarm(kind, 'warning', subject, SINCE, `${kind} of ${JSON.stringify(subject)}`);
  const prod = { site: 'plant-1', agent: 'plant-1/press-1', environment: 'prod', clusterType: 'press' };
  const qa = { site: 'lab', agent: 'lab/rig-1', environment: 'qa', clusterType: 'press' };
  const alarms = [
    raise('AGENT_LATE', prod),
    raise('REPORT_GAP', prod),
    raise('PACKAGE_FAILED', { ...prod, workspace: 'bakery', assignment: 'oven' }),
    raise('PACKAGE_DRIFTED', { ...prod, workspace: 'print', assignment: 'printer' }),
    raise('GATE_WAITS', { environment: 'prod' }),
    raise('AGENT_SILENT', qa),
    raise('PACKAGE_FAILED', { ...qa, workspace: 'bakery', assignment: 'oven' }),
    raise('ROOT_ENDS', { name: 'root' }),
  ];
  await keepAlarms(hub.store, alarms, { now: NOW });
  const failing = { name: 'desk', failing_since: SINCE, failures: 2, next_at: SINCE, message: '500' };
  await hub.store.transact(async (tx) => {
    await tx.insertInto('alarm_receiver').values(failing).execute();
  });
  const see = async (visible: Visible | undefined, limit = 100, cursor?: string) => {
    const { alarms: seen, ...rest } = await listAlarms(hub.store.db, { visible }, { limit, cursor }, NOW);
    const words = seen.map(({ kind, subject: { environment = '', assignment = '' } }) =>
      [kind, environment, assignment].filter(Boolean).join(' '),
    );
    return { seen: words.toSorted(), ...rest };
  };
  return { see, [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose]() };
};

const limited = (
  whole: readonly string[],
  parts: Readonly<Record<string, readonly string[]>> = {},
): Visible => ({
  whole: new Set(whole),
  parts: new Map(Object.entries(parts).map(([name, assignments]) => [name, new Set(assignments)])),
});

test('a reader without limits sees every alarm, and the receivers that fail', async () => {
  await using hub = await open();
  const { total, seen, failing } = await hub.see(undefined);
  expect(total).toBe(8);
  expect(seen).toContain('ROOT_ENDS');
  expect(failing).toMatchObject([{ receiver: 'desk' }]);
});

test('a reader of one environment sees its alarms, and none of the hub or another environment', async () => {
  await using hub = await open();
  expect(await hub.see(limited(['qa']))).toMatchObject({
    total: 2,
    seen: ['AGENT_SILENT qa', 'PACKAGE_FAILED qa oven'],
    failing: [],
  });
});

test('a reader of a workspace sees the alarms of its assignments, and none of the agent, the gate or other workspaces', async () => {
  await using hub = await open();
  const bakery = limited([], { prod: ['oven'], qa: ['oven'] });
  expect(await hub.see(bakery)).toMatchObject({
    total: 2,
    seen: ['PACKAGE_FAILED prod oven', 'PACKAGE_FAILED qa oven'],
    failing: [],
  });
  // The count and the cursor do not tell about the others either.
  const first = await hub.see(bakery, 1);
  expect(first.total).toBe(2);
  expect((await hub.see(bakery, 1, first.next ?? '')).next).toBeNull();
  expect(await hub.see(limited([], { prod: ['nothing'] }))).toMatchObject({ total: 0, seen: [] });
  expect(await hub.see(limited([]))).toMatchObject({ total: 0, seen: [], failing: [] });
});
