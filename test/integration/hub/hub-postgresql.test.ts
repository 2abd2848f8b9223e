import { globSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { useServer } from '../../scheduler/hub/test-database.ts';

const folder = join(import.meta.dirname, '../../scheduler/hub');

/**
 * Between them these execute nearly every statement that the hub's tests execute; the others execute the same ones again, and run in a long run.
 */
const CHOSEN: readonly string[] = [
  'alarms/handle-alarms',
  'alarms/keep-alarms',
  'alarms/list-alarms',
  'alarms/read-alarm-facts',
  'http/hooks/notification-routes',
  'http/hostile-words',
  'http/metrics/fleet-metrics',
  'http/readers/limited-readers',
  'ingest/followers/register-follower',
  'ingest/reports/compacted',
  'ingest/reports/import-reports',
  'ingest/reports/ingest-report',
  'ingest/reports/rebuild-history',
  'people/session',
  'promote/facts/read-history',
  'promote/values/review-values',
  'questions/answers/answer-compliance',
  'questions/answers/answer-search',
  'questions/history/changed-values',
  'questions/history/history',
  'questions/history/note-versions',
  'questions/answers/answer-overview',
  'questions/status/list-media',
  'questions/status/list-sites',
  'serve/commit-statuses',
  'serve/judge-links',
  'sites/values-at',
  'store/group-commits',
  'store/migrate',
  'store/views',
  'upkeep/retention/forget-decided',
  'upkeep/retention/forget-site-values',
  'upkeep/retention/retention',
];

/** Integration tests: they also need a server or a pipe. */
const WITH_MORE: readonly string[] = [
  'promote/checks/ask-checks',
  'serve/commit-statuses',
  'sites/medium/found-medium',
];

/** Of SQLite and its files. */
const SQLITE: readonly string[] = [
  'ingest/reports/cut-off',
  'ingest/reports/table-scans',
  'serve/lock-hub',
  'store/open-store',
];

/** Folders of tests that open a database, in a long run. */
const FOLDERS = [
  'alarms',
  'http',
  'ingest',
  'people',
  'promote/{checks,decide,facts,values}',
  'questions',
  'serve',
  'sites',
  'store',
  'upkeep/retention',
];

const allFiles = (): readonly string[] =>
  FOLDERS.flatMap((one) => globSync(`${one}/**/*.component.test.ts`, { cwd: folder }))
    .map((file) => file.replace(/\.component\.test\.ts$/, ''))
    .filter((file) => !SQLITE.includes(file))
    .concat(WITH_MORE)
    .sort();

/** The component tests run the same files on SQLite. */
const files = LONG ? allFiles() : CHOSEN;

const pathOf = (file: string): string =>
  join(folder, `${file}.${WITH_MORE.includes(file) ? 'integration' : 'component'}.test.ts`);

describeWith(['postgresql'], "the hub's tests, on PostgreSQL", async ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
    useServer(server);
  });
  afterAll(async () => {
    useServer(undefined);
    await server[Symbol.asyncDispose]();
  });
  // Each in a suite of its own: hooks of a file would run for the tests of all files.
  for (const file of files)
    describe(file, async () => {
      await import(pathOf(file));
    });
});
