/**
 * `npm run bench hub-ingest`: how many events a second the hub takes of reports that agents send over the network: long and short ones, one
 * after the other and 64 at once; each is verified, stored on disk and answered with a signed receipt. FLEET_BENCH_SITES (1000).
 */
import { loadavg } from 'node:os';
import { sql } from 'kysely';
import { digestOf } from '../bundles/digest.ts';
import { createLimit } from '../bundles/transport/publish/limit.ts';
import type { SignedReport } from '../bundles/trust/reports/report.ts';
import { takeReport } from '../scheduler/hub/http/agents/take-report.ts';
import { newAgentRow } from '../scheduler/hub/sites/agent-record.ts';
import type { AgentRow } from '../scheduler/hub/store/tables.ts';
import { newSigningKey } from '../test/harness/fleets/signed-fleet.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { openReportHub } from './hub/report-hub.ts';
import { type Happening, simulateAgent } from './hub/simulate-agent.ts';
import { figure, formatTable } from './table.ts';

const SITES = Number(process.env['FLEET_BENCH_SITES'] ?? 1000);
const FLEET = 'bench';
const NOW = new Date('2026-11-21T08:00:00Z');
const ASSIGNMENTS = 50;
/** Events of a report. */
const LENGTHS = [100, 10, 2];
const AT_ONCE = [1, 64];

await using folder = await temporaryDirectory('bench-ingest');
await using opened = await openReportHub(folder.path, FLEET, NOW);
const { store, context } = opened;
const key = newSigningKey();
const agents = Array.from({ length: SITES }, (_, index) => {
  const channel = { environment: 'prod', clusterType: 'host' };
  const row = newAgentRow({ site: `site-${index}`, agent: 'a' }, key.public.pem, channel, {}, NOW);
  return { row, simulated: simulateAgent(row.id, FLEET, key) };
});
await store.transact(async (tx) => {
  for (const { row } of agents) await tx.insertInto('agent').values(row).execute();
});

let round = 0;
const happenings = (length: number): readonly Happening[] =>
  Array.from({ length }, () => {
    round += 1;
    const assignment = `app-${round % ASSIGNMENTS}`;
    return { assignment, package: digestOf(`${round}`), outcome: 'configured' as const, time: NOW };
  });

const take = async (
  reports: readonly (readonly [AgentRow, SignedReport])[],
  width: number,
): Promise<{ readonly seconds: number; readonly cpu: number }> => {
  const limit = createLimit(width);
  const [start, used] = [performance.now(), process.cpuUsage()];
  await Promise.all(
    reports.map(([row, { statement, events }]) =>
      limit(() =>
        takeReport({ statement: JSON.parse(statement.toString()), events: events.toString() }, row, context),
      ),
    ),
  );
  const { user, system } = process.cpuUsage(used);
  return { seconds: (performance.now() - start) / 1000, cpu: (user + system) / 1000 };
};

const sizeOf = async (): Promise<number> => {
  const asked = sql<{
    bytes: number;
  }>`select page_count * page_size as bytes from pragma_page_count(), pragma_page_size()`;
  return (await asked.execute(store.db)).rows[0]?.bytes ?? Number.NaN;
};

const rows: string[][] = [];
for (const length of LENGTHS)
  for (const width of AT_ONCE) {
    const reports: (readonly [AgentRow, SignedReport])[] = [];
    for (const { row, simulated } of agents)
      reports.push([row, await simulated.report(happenings(length), NOW)]);
    const before = await sizeOf();
    const { seconds, cpu } = await take(reports, width);
    const bytes = ((await sizeOf()) - before) / SITES;
    rows.push([
      `${length}`,
      `${width}`,
      figure((SITES * length) / seconds),
      figure(SITES / seconds),
      figure(cpu / SITES),
      figure(bytes),
    ]);
  }
process.stdout.write(`
Reports of ${SITES} agents, ${ASSIGNMENTS} assignments each; load ${loadavg().map(figure).join(' ')}.

${formatTable(['events a report', 'at once', 'events/s', 'reports/s', 'cpu ms a report', 'bytes a report'], rows)}
`);
