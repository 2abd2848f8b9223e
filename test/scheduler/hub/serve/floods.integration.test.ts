import { expect, it } from 'vitest';
import { chain, happenings, NOW, reportOf, testAgent } from '../test-hub.ts';
import { hand, join, testServer } from './test-server.ts';

it('F3: of reports that contradict what was said the first and the last are kept, and not whole -> REPORT_CHAIN', async () => {
  await using made = await testServer();
  const agent = testAgent('plant-7/press-1');
  const certificate = await join(made, agent);
  await hand(made, await reportOf(agent, chain(agent, happenings(3))), certificate);
  const stories = ['one', 'two', 'three', 'four'];
  for (const [at, story] of stories.entries()) {
    made.setNow(new Date(NOW.getTime() + at * 1000));
    const long = Array.from({ length: 300 }, () => ({ type: 'operator', message: story.padEnd(3900, '.') }));
    const answer = await hand(made, await reportOf(agent, chain(agent, long)), certificate);
    expect((answer.body as { code: string }).code).toBe('REPORT_CHAIN');
  }
  const { db } = made.hub.store;
  const alarms = await db.selectFrom('alarm').selectAll().orderBy('raised_at').execute();
  expect(alarms.map(({ events }) => /"message":"(\w+)/.exec(events ?? '')?.[1])).toEqual(['one', 'four']);
  for (const { events } of alarms) expect(events?.length).toBeLessThan(20_000);
  const reports = await db.selectFrom('report').select('digest').where('apart', '=', 1).execute();
  expect(new Set(reports.map(({ digest }) => digest))).toEqual(new Set(alarms.map(({ report }) => report)));
});
