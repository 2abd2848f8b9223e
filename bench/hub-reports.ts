/**
 * `npm run bench hub-reports`: how many reports a second a hub takes over the network where a large fleet sends one an hour: each of two events,
 * signed by its agent, verified, stored and answered with a signed receipt, 64 at once. FLEET_BENCH_SITES (100000) agents are enrolled,
 * each with the current states of 50 assignments, before FLEET_BENCH_REPORTS (3000) of them report. On SQLite, or FLEET_BENCH_DATABASE (as in hub-questions).
 */
import { loadavg } from 'node:os';
import { digestOf } from '../bundles/digest.ts';
import { createLimit } from '../bundles/transport/publish/limit.ts';
import type { SignedReport } from '../bundles/trust/reports/report.ts';
import { takeReport } from '../scheduler/hub/http/agents/take-report.ts';
import { emptyState } from '../scheduler/hub/ingest/reports/fold-event.ts';
import type { AgentRow } from '../scheduler/hub/store/tables.ts';
import { findPart } from '../test/harness/parts.ts';
import { startPostgresql } from '../test/harness/neighbours/postgresql.ts';
import { newSigningKey } from '../test/harness/fleets/signed-fleet.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { agentAt, FLEET, names, NOW } from './hub/fleet-hub.ts';
import { openReportHub } from './hub/report-hub.ts';
import { figure, formatTable } from './table.ts';

const SITES = Number(process.env['FLEET_BENCH_SITES'] ?? 100_000);
const REPORTS = Math.min(SITES, Number(process.env['FLEET_BENCH_REPORTS'] ?? 3000));
const DATABASE = process.env['FLEET_BENCH_DATABASE'];
const AT_ONCE = 64;
/** Rows of one INSERT. */
const ROWS = 500;

const found = DATABASE === 'postgresql' ? findPart('postgresql') : undefined;
if (found?.present === false) throw new Error(found.reason);
await using postgresql = found ? await startPostgresql(found.path, { fast: false }) : undefined;
await using folder = await temporaryDirectory('bench-reports');
const database = postgresql ? postgresql.url(await postgresql.create()) : DATABASE;
await using opened = await openReportHub(folder.path, FLEET, NOW, database);
const { store, context } = opened;
const key = newSigningKey();
const agents = Array.from({ length: SITES }, (_, index) => agentAt(index, key));

/** Adds the agents, and copies the current states of the first of them to the others, unless a database that was given has them. */
const fill = async (): Promise<void> => {
  const known = await store.db.selectFrom('assignment_state').select('agent').limit(1).executeTakeFirst();
  const rows = agents.map(({ row }) => row);
  await store.transact(async (tx) => {
    for (let start = 0; start < SITES; start += ROWS)
      await tx
        .insertInto('agent')
        .values(rows.slice(start, start + ROWS))
        .execute();
    const [first] = rows;
    if (known || !first) return;
    const states = names.map((name) => ({ ...emptyState(first.id, name), package: digestOf(name) }));
    const { agent: _, ...columns } = emptyState('', '');
    const copied = Object.keys(columns) as (keyof typeof columns)[];
    await tx.insertInto('assignment_state').values(states).execute();
    await tx
      .insertInto('assignment_state')
      .columns(['agent', ...copied])
      .expression((eb) =>
        eb
          .selectFrom('agent')
          .innerJoin('assignment_state as state', (join) => join.on('state.agent', '=', first.id))
          .select(['agent.id', ...copied.map((column) => `state.${column}` as const)])
          .where('agent.id', '!=', first.id),
      )
      .execute();
  });
};
await fill();

/** Reports of one hour, from sites across the fleet. */
const reports: (readonly [AgentRow, SignedReport])[] = [];
const stride = Math.floor(SITES / REPORTS);
for (let index = 0; index < REPORTS; index += 1) {
  const { row, simulated } = agents[index * stride] as (typeof agents)[number];
  const happenings = [0, 1].map((at) => ({
    assignment: names[(index + at) % names.length],
    package: digestOf(`${index} ${at}`),
    outcome: 'configured' as const,
    time: NOW,
  }));
  reports.push([row, await simulated.report(happenings, NOW)]);
}
const limit = createLimit(AT_ONCE);
const [before, statements] = [process.cpuUsage(), opened.statements()];
const start = performance.now();
await Promise.all(
  reports.map(([row, { statement, events }]) =>
    limit(() =>
      takeReport({ statement: JSON.parse(statement.toString()), events: events.toString() }, row, context),
    ),
  ),
);
const seconds = (performance.now() - start) / 1000;
const { user, system } = process.cpuUsage(before);
const row = [
  `${SITES}`,
  `${REPORTS}`,
  figure(REPORTS / seconds),
  figure(SITES / 3600),
  figure((user + system) / 1000 / REPORTS),
  figure((opened.statements() - statements) / REPORTS),
];
process.stdout.write(`
Reports of two events on ${DATABASE === undefined ? 'SQLite' : 'PostgreSQL'}, ${AT_ONCE} at once; load ${loadavg().map(figure).join(' ')}.

${formatTable(['sites', 'reports', 'taken a second', 'sent a second', "CPU ms of the hub's process", 'statements a report'], [row])}
`);
