import { globSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { useServer } from '../../scheduler/hub/test-database.ts';

const folder = join(import.meta.dirname, '../../scheduler/hub');

/** Tests that open a database; the others use it in the same ways. */
const PATTERNS = [
  'alarms/**',
  'http/**',
  'ingest/reports/**',
  'people/**',
  'promote/decide/**',
  'promote/facts/**',
  'questions/**',
  'serve/**',
  'sites/*',
  'store/**',
  'upkeep/retention/**',
  ...(LONG ? ['ingest/followers/**', 'promote/checks/**', 'sites/*/**'] : []),
];

/** Of SQLite and its files. */
const SQLITE = [
  'store/open-store.test.ts',
  'ingest/reports/cut-off.test.ts',
  'ingest/reports/table-scans.test.ts',
  'serve/lock-hub.test.ts',
];

/** The unit tests run the same files on SQLite. */
const files = PATTERNS.flatMap((pattern) => {
  const found = globSync(`${pattern}.test.ts`.replace('**.', '**/*.'), { cwd: folder });
  if (found.length === 0) throw new Error(`no test matches ${pattern}: its folder was moved`);
  return found;
})
  .filter((file) => !file.includes('.integration.') && !SQLITE.includes(file))
  .sort();

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
  for (const file of files) await import(join(folder, file));
});
