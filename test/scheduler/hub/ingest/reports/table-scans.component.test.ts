import { CompiledQuery, type LogEvent } from 'kysely';
import { expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { ingestReport } from '../../../../../scheduler/hub/ingest/reports/ingest-report.ts';
import { judgeReport } from '../../../../../scheduler/hub/ingest/reports/judge-report.ts';
import { chain, enrolled, FLEET, NOW, reportOf, testHub } from '../../test-hub.ts';

const PACKAGE: Digest = `sha256:${'5'.repeat(64)}`;
/** SQLite once read a whole table only where about 500 rows were asked for at once, and looked up fewer in the index. */
const ASSIGNMENTS = 500;

it('storing a large report uses indexes, and scans no table of the fleet', async () => {
  const statements = new Map<string, LogEvent['query']>();
  await using hub = await testHub({ log: ({ query }) => void statements.set(query.sql, query) });
  const agent = await enrolled(hub, 'plant-1/press');
  const { db } = hub.store;
  const row = await db.selectFrom('agent').selectAll().where('id', '=', agent.id).executeTakeFirstOrThrow();
  const happenings = Array.from({ length: ASSIGNMENTS }, (_, at) => ({
    type: 'package',
    assignment: `app-${at}`,
    package: PACKAGE,
    outcome: 'created' as const,
  }));
  const judged = judgeReport(await reportOf(agent, chain(agent, happenings)), row, FLEET, 'report');
  statements.clear();
  await ingestReport(hub.store, judged, row, { source: 'network', now: NOW });
  const asked = [...statements.values()].filter(({ sql }) => /\bwith asked\b/.test(sql));
  const steps: string[] = [];
  for (const { sql, parameters } of asked) {
    const plan = CompiledQuery.raw(`explain query plan ${sql}`, [...parameters]);
    const { rows } = await db.executeQuery<{ readonly detail: string }>(plan);
    steps.push(...rows.map(({ detail }) => detail));
  }
  expect(steps.filter((step) => /^SEARCH (?:state|event|report) USING/.test(step))).not.toHaveLength(0);
  expect(steps.filter((step) => /^SCAN (?!asked$|\d+ CONSTANT|CONSTANT)/.test(step))).toEqual([]);
});
