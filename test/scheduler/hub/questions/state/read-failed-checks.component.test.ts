import { CompiledQuery, type LogEvent } from 'kysely';
import { expect, test } from 'vitest';
import {
  readEveryFailedCheck,
  readFailedChecks,
} from '../../../../../scheduler/hub/questions/state/read-failed-checks.ts';
import { applied, chain, enrolled, report, testHub } from '../../test-hub.ts';

const failed = (assignment: string, digit: string, name: string) =>
  applied(assignment, digit, {
    outcome: 'failed',
    code: 'CHECK_FAILED',
    message: '1 of 1 checks failed',
    detail: {
      checks: [{ name, outcome: 'failed', message: 'ended with 1', output: `${assignment} ${name}` }],
    },
  });

test('failed checks of all failures are read page by page, and equal ones are kept once', async () => {
  await using hub = await testHub();
  for (const site of ['plant-1', 'plant-2']) {
    const agent = await enrolled(hub, `${site}/press-1`);
    const stick = await hub.stick(`reports-${site}`);
    const lines = [failed('door', '1', 'closes'), failed('oven', '2', 'is-hot'), applied('scale', '3')];
    await report(stick, agent, chain(agent, lines));
    await hub.importFrom(stick);
  }
  const whole = await readFailedChecks(hub.store.db, {});
  expect(whole.get('plant-2/press-1 oven')).toMatchObject([{ name: 'is-hot', output: 'oven is-hot' }]);
  const names = [
    'plant-1/press-1 door',
    'plant-1/press-1 oven',
    'plant-2/press-1 door',
    'plant-2/press-1 oven',
  ];
  expect([...whole.keys()].toSorted()).toEqual(names);
  for (const pageSize of [1, 2, 3, 4, 5]) {
    const found = await readEveryFailedCheck(hub.store.db, {}, pageSize);
    expect([...found.keys()], `${pageSize} at once`).toEqual(names);
    expect(found.get('plant-1/press-1 door')).toEqual([{ name: 'closes', message: 'ended with 1' }]);
    expect(found.get('plant-1/press-1 door')).toBe(found.get('plant-2/press-1 door'));
  }
});

test('failed checks are looked for among the assignments in trouble, and not among all', async () => {
  const statements = new Map<string, LogEvent['query']>();
  await using hub = await testHub({ log: ({ query }) => void statements.set(query.sql, query) });
  statements.clear();
  await readEveryFailedCheck(hub.store.db, {});
  await readFailedChecks(hub.store.db, {});
  const asked = statements.values().toArray();
  expect(asked).toHaveLength(2);
  for (const { sql, parameters } of asked) {
    const plan = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]);
    const { rows } = await hub.store.db.executeQuery<{ readonly detail: string }>(plan);
    expect(rows.map(({ detail }) => detail).join('\n')).toMatch(
      /^S(?:CAN|EARCH) assignment_state USING INDEX assignment_state_trouble/m,
    );
  }
});
