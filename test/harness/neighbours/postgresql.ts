import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { buildVersion, cacheDirectory } from '../parts/cache-folder.ts';
import { runOrFail } from '../run/run-command.ts';

export type PostgresqlServer = AsyncDisposable & {
  readonly url: (database: string) => string;
  /** Creates a database, empty or as a copy of another that nobody is connected to. @returns its name */
  readonly create: (template?: string) => Promise<string>;
  readonly drop: (database: string) => Promise<void>;
  /** Runs statements as the server's owner. */
  readonly run: (statement: string, database?: string) => Promise<readonly Record<string, unknown>[]>;
  readonly start: () => Promise<void>;
  /** 'immediate' ends it as a crash does: the next start recovers from the log. */
  readonly stop: (mode?: 'fast' | 'immediate') => Promise<void>;
  /** Lets the next start begin as a standby, until `select pg_promote()`. */
  readonly demote: () => Promise<void>;
};

export type PostgresqlSettings = {
  /** true by default: a commit need not survive a power failure, which nothing here causes. */
  readonly fast?: boolean;
  /** Lines for postgresql.conf; by default the server listens on a socket in its own folder only. */
  readonly settings?: readonly string[];
  /** Lines for pg_hba.conf; by default everybody is trusted. */
  readonly access?: readonly string[];
};

/** PostgreSQL refuses to run as root. */
const asOwner = (argv: readonly string[]): readonly string[] =>
  process.getuid?.() === 0
    ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', ...argv]
    : argv;

const FAST = ['fsync = off', 'full_page_writes = off', 'synchronous_commit = off', 'autovacuum = off'];

const initdb = async (data: string, programs: string): Promise<void> => {
  const words = ['-U', 'app', '--auth=trust', '--no-sync', '--encoding=UTF8', '--locale=C', '-D', data];
  await runOrFail(asOwner([join(programs, 'initdb'), ...words]), { cwd: '/' });
};

/** Makes the data folder of a new server: a copy of the first one that initdb of this version made. initdb takes a CPU second. */
const makeData = async (data: string, programs: string): Promise<void> => {
  const { stdout } = await runOrFail([join(programs, 'initdb'), '--version']);
  const version = /[\d.]+/.exec(stdout)?.[0] ?? 'unknown';
  const family = join(cacheDirectory(process.env), 'postgresql');
  const copy = (from: string, to: string): Promise<unknown> => runOrFail(['cp', '-a', from, to]);
  if (existsSync(join(family, version))) return void (await copy(join(family, version, 'data'), data));
  await initdb(data, programs);
  await buildVersion(family, async (temporary) => {
    await copy(data, join(temporary, 'data'));
    return version;
  });
};

/** Starts a server of the test's own with the programs in `folder` (parts.postgresql). Its user is "app". */
export const startPostgresql = async (
  programs: string,
  { fast = true, settings = [], access }: PostgresqlSettings = {},
): Promise<PostgresqlServer> => {
  // Memory where there is some, and a short path: a socket's has at most 107 bytes.
  const folder = await mkdtemp(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'fleet-ferry-pg-'));
  await chmod(folder, 0o777);
  const data = join(folder, 'data');
  const run = (program: string, ...words: readonly string[]) =>
    runOrFail(asOwner([join(programs, program), ...words]), { cwd: '/' });
  await makeData(data, programs);
  const lines = [
    `unix_socket_directories = '${folder}'`,
    "listen_addresses = ''",
    ...(fast ? FAST : []),
    ...settings,
  ];
  await writeFile(join(data, 'postgresql.auto.conf'), lines.map((line) => `${line}\n`).join(''));
  if (access) await writeFile(join(data, 'pg_hba.conf'), access.map((line) => `${line}\n`).join(''));
  const start = async (): Promise<void> => {
    await run('pg_ctl', '-w', '-D', data, '-l', join(folder, 'log'), 'start');
  };
  const stop = async (mode: 'fast' | 'immediate' = 'fast'): Promise<void> => {
    await run('pg_ctl', '-w', '-D', data, '-m', mode, 'stop');
  };
  await start();
  const url = (database: string): string =>
    `postgres://app@localhost/${database}?host=${encodeURIComponent(folder)}`;
  let number = 0;
  const query: PostgresqlServer['run'] = async (statement, database = 'postgres') => {
    const client = new Client(url(database));
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(statement)).rows;
    } finally {
      await client.end();
    }
  };
  return {
    url,
    run: query,
    start,
    stop,
    demote: async () => {
      const signal = join(data, 'standby.signal');
      await writeFile(signal, '');
      await chmod(signal, 0o666);
    },
    create: async (template = 'template1') => {
      const name = `hub_${++number}`;
      // Takes a third of the time of a copy through the log.
      await query(`create database ${name} template ${template} strategy file_copy`);
      return name;
    },
    drop: async (database) => {
      await query(`drop database ${database} with (force)`);
    },
    [Symbol.asyncDispose]: async () => {
      if (existsSync(join(data, 'postmaster.pid'))) await stop('immediate');
      await rm(folder, { recursive: true, force: true });
    },
  };
};
