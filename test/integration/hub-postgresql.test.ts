import { globSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { describeWith } from '../harness/describe-with.ts';
import { LONG } from '../harness/long.ts';
import { type PostgresqlServer, startPostgresql } from '../harness/postgresql.ts';
import { useServer } from '../scheduler/hub/test-database.ts';

const folder = join(import.meta.dirname, '../scheduler/hub');

/** Folders with tests that open a database; the others use it in the same ways. */
const FOLDERS = `alarms,decide,history,http,people,reports,retention,serve,sites,status,store${LONG ? ',checks,enroll,followers,medium,secrets,tokens' : ''}`;

/** Of SQLite and its files. */
const SQLITE = ['store/open-store.test.ts', 'reports/cut-off.test.ts', 'serve/lock-hub.test.ts'];

/** The unit tests run the same files on SQLite. */
const files = globSync(`{${FOLDERS}}/**/*.test.ts`, { cwd: folder })
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
