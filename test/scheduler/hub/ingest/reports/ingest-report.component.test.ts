import { expect, it } from 'vitest';
import { acknowledgeAll } from '../../../../../scheduler/hub/ingest/reports/acknowledge.ts';
import { type Arrival, ingestReports } from '../../../../../scheduler/hub/ingest/reports/ingest-report.ts';
import { judgeReport } from '../../../../../scheduler/hub/ingest/reports/judge-report.ts';
import {
  chain,
  enrolled,
  FLEET,
  happenings,
  NOW,
  reportOf,
  type TestAgent,
  type TestHub,
  testHub,
} from '../../test-hub.ts';

const arrivalOf = async (
  { store }: TestHub,
  agent: TestAgent,
  lines: readonly string[],
  from = 1,
): Promise<Arrival> => {
  const row = await store.db
    .selectFrom('agent')
    .selectAll()
    .where('id', '=', agent.id)
    .executeTakeFirstOrThrow();
  const report = judgeReport(await reportOf(agent, lines, from), row, FLEET, 'report');
  return { report, agent: row, received: { source: 'network', now: NOW } };
};

it('judges each report of a transaction separately: contradiction, continuation, first report, gap', async () => {
  await using hub = await testHub();
  const [twin, older, newer, gapped] = [
    await enrolled(hub, 'plant-1/twin'),
    await enrolled(hub, 'plant-2/older'),
    await enrolled(hub, 'plant-3/newer'),
    await enrolled(hub, 'plant-4/gapped'),
  ];
  const lines = chain(older, happenings(5));
  const take = (arrivals: readonly Arrival[]) =>
    hub.store.transact(async (tx) => {
      const ingested = await ingestReports(tx, arrivals);
      const signer = { root: hub.keys.root, key: await hub.keys.key('receipt'), now: NOW };
      const receipts = await acknowledgeAll(
        tx,
        arrivals.map(({ agent }) => agent.id),
        signer,
      );
      return { ingested, receipts };
    });
  await take([
    await arrivalOf(hub, twin, chain(twin, happenings(2))),
    await arrivalOf(hub, older, lines.slice(0, 2)),
  ]);
  const { ingested, receipts } = await take([
    await arrivalOf(hub, twin, chain(twin, [{ type: 'operator', message: 'the other machine' }])),
    await arrivalOf(hub, older, lines, 3),
    await arrivalOf(hub, newer, chain(newer, happenings(1))),
    await arrivalOf(hub, gapped, chain(gapped, happenings(3)), 2),
  ]);
  expect(ingested.map(({ taken, known, apart }) => [taken, known, apart?.code])).toEqual([
    [0, 0, 'REPORT_CHAIN'],
    [3, 0, undefined],
    [1, 0, undefined],
    [2, 0, undefined],
  ]);
  expect([...receipts.values()].map(({ agent, to_seq: to }) => `${agent} to ${to}`).toSorted()).toEqual([
    'plant-1/twin to 2',
    'plant-2/older to 5',
    'plant-3/newer to 1',
  ]);
  const reports = await hub.store.db.selectFrom('report').select('number').orderBy('number').execute();
  expect(reports.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
});
