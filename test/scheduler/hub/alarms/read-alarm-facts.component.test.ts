import { expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { readAlarmFacts } from '../../../../scheduler/hub/alarms/read-alarm-facts.ts';
import { formatChannel } from '#bundles/names';
import { readTroubles } from '../../../../scheduler/hub/questions/history/read-troubles.ts';
import { chain, digest, enrolledHub, type Happening, HOSTS, NOW, report } from '../test-hub.ts';

const at = (hours: number): string => formatTime(addDays(NOW, -hours / 24));
const one = `sha256:${'1'.repeat(64)}` as const;

const applied = (assignment: string, hours: number): Happening => ({
  type: 'package',
  assignment,
  outcome: 'created',
  package: one,
  at: at(hours),
});
const drifted = (assignment: string, hours: number): Happening => ({
  type: 'drift',
  assignment,
  message: 'replicas 3, not 2',
  at: at(hours),
});
const corrected = (assignment: string, hours: number): Happening => ({
  type: 'corrected',
  assignment,
  outcome: 'configured',
  at: at(hours),
});

test('failures, drift and repeated drift are read from reports of enrolled agents', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const stick = await hub.stick('reports');
  const fight = [20, 12, 4].flatMap((hours) => [drifted('web', hours), corrected('web', hours - 1)]);
  // Long before its last word: another matter.
  const old = [drifted('web', 90), corrected('web', 80)];
  const failed: Happening = {
    type: 'package',
    assignment: 'db',
    outcome: 'failed',
    code: 'CHECK_FAILED',
    message: 'no answer',
    detail: { checks: [{ name: 'answers', outcome: 'failed', message: 'no answer' }] },
    at: at(2),
  };
  const lines = chain(agent, [
    applied('web', 99),
    applied('db', 99),
    ...old,
    ...fight,
    failed,
    drifted('web', 1),
  ]);
  await report(stick, agent, lines);
  await hub.importFrom(stick);
  const facts = await readAlarmFacts(hub.store.db, ['desk'], NOW);
  expect(facts.agents).toMatchObject([
    { id: 'plant-7/press-1', environment: 'prod', reported: true, held: false, onlineAt: null },
  ]);
  expect(facts.troubles).toEqual([
    {
      agent: agent.id,
      assignment: 'db',
      runs: true,
      failed: { at: at(2), code: 'CHECK_FAILED', message: 'no answer', checks: ['answers'] },
      drifted: null,
    },
    {
      agent: agent.id,
      assignment: 'web',
      runs: true,
      failed: null,
      drifted: { at: at(1), message: 'replicas 3, not 2' },
    },
  ]);
  expect(facts.corrections).toEqual([{ agent: agent.id, assignment: 'web', times: 4, first: at(20) }]);
  expect(facts.receivers).toEqual([{ name: 'desk', failingSince: null, refused: null }]);
  expect([facts.gaps, facts.evidence]).toEqual([[], []]);
});

test('a gap starts with the first report after it, and ends when the missing report arrives', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const lines = chain(agent, [applied('web', 9), applied('db', 8), applied('web', 7), applied('db', 6)]);
  const [first, second] = [await hub.stick('first'), await hub.stick('second')];
  await report(first, agent, lines, 1, 1);
  await report(first, agent, lines, 3, 4);
  await hub.importFrom(first);
  const read = async () => (await readAlarmFacts(hub.store.db, [], NOW)).gaps;
  expect(await read()).toEqual([{ agent: agent.id, head: 1, newest: 4, since: formatTime(NOW) }]);
  await report(second, agent, lines, 2, 2);
  await hub.importFrom(second, addDays(NOW, 1));
  expect(await read()).toEqual([]);
});

test("evidence counts only against the agent's current key", async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const stick = await hub.stick('reports');
  await report(stick, agent, chain(agent, [applied('web', 9)]));
  await hub.importFrom(stick);
  const other = await hub.stick('other');
  await report(other, agent, chain(agent, [applied('db', 9)]));
  await hub.importFrom(other);
  const read = async () => (await readAlarmFacts(hub.store.db, [], NOW)).evidence;
  expect(await read()).toMatchObject([{ agent: agent.id, code: 'REPORT_CHAIN' }]);
  await hub.store.db
    .updateTable('agent_key')
    .set({ since: formatTime(addDays(NOW, 1)) })
    .execute();
  expect(await read()).toEqual([]);
});

test('a package that failed before it ever ran is a fact with its workload', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const stick = await hub.stick('reports');
  const failed = { type: 'package', outcome: 'failed', code: 'CHECK_FAILED', message: 'no answer' } as const;
  const about = { assignment: 'db', package: digest('d'), at: at(2) };
  const lines = chain(agent, [
    applied('web', 9),
    { ...about, ...failed },
    { ...about, type: 'rolled-back', outcome: 'deleted', code: 'CHECK_FAILED' },
  ]);
  await report(stick, agent, lines);
  await hub.importFrom(stick);
  const counts = await hub.store.db.selectFrom('agent_state').select(['failed', 'drifted']).execute();
  expect(counts).toEqual([{ failed: 1, drifted: 0 }]);
  const { troubles } = await readAlarmFacts(hub.store.db, [], NOW);
  expect(troubles).toMatchObject([{ assignment: 'db', runs: false, failed: { code: 'CHECK_FAILED' } }]);
  expect((await readTroubles(hub.store.db)).get(`${formatChannel(HOSTS)}/db`)).toEqual({
    failed: 1,
    drifted: 0,
  });
});

test('a stopped service is a fact of its agent', async () => {
  await using hub = await enrolledHub();
  const { agent } = hub;
  const stick = await hub.stick('reports');
  const looks = { service: 'stopped', packages: {} } as const;
  await report(stick, agent, chain(agent, [applied('web', 9)]), 1, 1, { looks });
  await hub.importFrom(stick);
  const { agents } = await readAlarmFacts(hub.store.db, [], NOW);
  expect(agents).toMatchObject([{ stopped: true }]);
});
