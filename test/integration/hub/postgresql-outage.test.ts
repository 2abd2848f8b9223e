import { once } from 'node:events';
import { cp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { join as path } from 'node:path';
import { expect, it } from 'vitest';
import { REPORTS_PATH } from '#bundles/formats/events/hub-api';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../../scheduler/hub/hub.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { importReports } from '../../../scheduler/hub/ingest/reports/import-reports.ts';
import { lockHub } from '../../../scheduler/hub/serve/lock-hub.ts';
import { issueSite } from '../../../scheduler/hub/sites/issue-site.ts';
import { openStore, type Store, storeExists } from '../../../scheduler/hub/store/open-store.ts';
import { backUp } from '../../../scheduler/hub/upkeep/backup/backup.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { handover, join, testServer } from '../../scheduler/hub/serve/test-server.ts';
import {
  chain,
  enrolled,
  FLEET,
  happenings,
  NOW,
  report,
  reportOf,
  testAgent,
  testHub,
} from '../../scheduler/hub/test-hub.ts';
import { useServer } from '../../scheduler/hub/test-database.ts';

const NONE = `sha256:${'0'.repeat(64)}` as const;

const write = (store: Store, agent: string): Promise<unknown> =>
  store.transact((tx) =>
    tx
      .insertInto('receipt')
      .values({ agent, life: 1, to_seq: 1, head: NONE, report: NONE, receipt: '' })
      .execute(),
  );

const SOCKET = '.s.PGSQL.5432';

/** A line to the server whose socket is in `to`. `silence`: its connections stand, and nothing passes on them any more. */
const startLine = async (to: string) => {
  const folder = await temporaryDirectory('line');
  const ends: Socket[] = [];
  const line = createServer((client) => {
    const far = connect(path(to, SOCKET));
    ends.push(client, far);
    for (const end of [client, far]) end.on('error', () => {});
    client.pipe(far).pipe(client);
  });
  line.listen(path(folder.path, SOCKET));
  await once(line, 'listening');
  return {
    folder: folder.path,
    silence: () => {
      for (const end of ends) end.unpipe().resume();
    },
    [Symbol.asyncDispose]: async () => {
      for (const end of ends) end.destroy();
      line.close();
      await folder[Symbol.asyncDispose]();
    },
  };
};

describeWith(['postgresql'], 'a PostgreSQL server', ({ postgresql }) => {
  it('that crashed refuses writes, keeps committed rows, and serves an open store when it is back', async () => {
    await using server = await startPostgresql(postgresql, { fast: false });
    await using store = await openStore(server.url(await server.create()), 'acme');
    await write(store, 'plant-7/first');
    await server.stop('immediate');
    await expect(write(store, 'plant-7/refused')).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await server.start();
    await write(store, 'plant-7/second');
    const rows = await store.db.selectFrom('receipt').select('agent').orderBy('agent').execute();
    expect(rows).toEqual([{ agent: 'plant-7/first' }, { agent: 'plant-7/second' }]);
  });

  it('that returns as a standby refuses writes, and accepts them once it is promoted', async () => {
    await using server = await startPostgresql(postgresql, { fast: false });
    const url = server.url(await server.create());
    await using store = await openStore(url, 'acme');
    await write(store, 'plant-7/first');
    await server.stop();
    await server.demote();
    await server.start();
    for (const agent of ['plant-7/refused', 'plant-7/again'])
      await expect(write(store, agent)).rejects.toMatchObject({
        code: 'DATABASE_UNREACHABLE',
        message: expect.stringContaining('is a standby'),
      });
    await expect(lockHub(url)).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await server.run('select pg_promote()');
    await write(store, 'plant-7/second');
    const rows = await store.db.selectFrom('receipt').select('agent').orderBy('agent').execute();
    expect(rows).toEqual([{ agent: 'plant-7/first' }, { agent: 'plant-7/second' }]);
  });

  it('that is read-only refuses writes, answers queries, and accepts writes when it may', async () => {
    await using server = await startPostgresql(postgresql);
    await using store = await openStore(server.url(await server.create()), 'acme');
    await write(store, 'plant-7/first');
    const setReadOnly = async (value: string): Promise<void> => {
      await server.run(`alter system set default_transaction_read_only = ${value}`);
      await server.run('select pg_reload_conf()');
      await expect
        .poll(() => server.run('show default_transaction_read_only'))
        .toEqual([{ default_transaction_read_only: value }]);
    };
    await setReadOnly('on');
    await expect(write(store, 'plant-7/refused')).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect(await store.db.selectFrom('receipt').select('agent').execute()).toHaveLength(1);
    await setReadOnly('off');
    await write(store, 'plant-7/second');
  });

  it('whose connection is silent is given up, and the next connection works', async () => {
    await using server = await startPostgresql(postgresql);
    await using line = await startLine(new URL(server.url('x')).searchParams.get('host') ?? '');
    const url = `postgres://app@localhost/${await server.create()}?host=${encodeURIComponent(line.folder)}`;
    await using store = await openStore(url, 'acme', { silenceMs: 500 });
    await write(store, 'plant-7/first');
    line.silence();
    await expect(write(store, 'plant-7/lost')).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await write(store, 'plant-7/second');
    const rows = await store.db.selectFrom('receipt').select('agent').orderBy('agent').execute();
    expect(rows).toEqual([{ agent: 'plant-7/first' }, { agent: 'plant-7/second' }]);
  });

  it('that is away is answered as 503 on every path, and everything is served when it is back', async () => {
    await using server = await startPostgresql(postgresql, { fast: false });
    useServer(server);
    try {
      await using made = await testServer();
      const agent = testAgent('plant-7/press-1');
      const certificate = await join(made, agent);
      const lines = chain(agent, happenings(2));
      const handOver = async (at: number) =>
        made.post(REPORTS_PATH, handover(await reportOf(agent, lines, at, at)), certificate);
      expect(await handOver(1)).toMatchObject({ status: 200 });
      const authorization = `Bearer ${await made.reader()}`;
      await server.stop('immediate');
      const refused = {
        status: 503,
        headers: { 'retry-after': '5' },
        body: { code: 'DATABASE_UNREACHABLE' },
      };
      expect(await handOver(2)).toMatchObject(refused);
      expect(await made.get('/readyz')).toMatchObject(refused);
      for (const path of [
        '/v1/status',
        '/v1/sites',
        '/v1/history',
        '/v1/workloads',
        '/v1/media',
        '/v1/search?q=press',
        '/metrics',
      ]) {
        const answer = await made.get(path, { authorization });
        expect(answer, path).toMatchObject(refused);
        expect(answer.headers, path).toMatchObject({
          'content-type': expect.stringContaining('application/problem+json'),
        });
        expect(answer.text, path).not.toContain('postgres:');
      }
      expect((await made.get('/healthz')).status).toBe(200);
      await server.start();
      expect(await handOver(2)).toMatchObject({ status: 200 });
      expect(await made.get('/v1/status', { authorization })).toMatchObject({ status: 200 });
      const events = await made.hub.store.db.selectFrom('event').select('seq').orderBy('seq').execute();
      expect(events).toEqual([{ seq: 1 }, { seq: 2 }]);
    } finally {
      useServer(undefined);
    }
  });

  it('holds the lock of the leading hub, which notices when that connection is lost', async () => {
    await using server = await startPostgresql(postgresql);
    const url = server.url(await server.create());
    await using first = await lockHub(url);
    expect(await lockHub(url)).toBeUndefined();
    await using _other = await lockHub(server.url(await server.create()));
    if (!first) throw new Error('not locked');
    await first.confirm();
    const lost = once(first.lost, 'abort');
    await server.stop('immediate');
    await lost;
    await expect(first.confirm()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    expect(first.lost.reason).toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await server.start();
    await using second = await lockHub(url);
    expect(second?.lost.aborted).toBe(false);
  });

  it('is in errors without user, password and parameters', async () => {
    await using server = await startPostgresql(postgresql);
    const url = server.url(await server.create());
    const withPassword = url.replace('app@', 'app:s3cret@');
    expect(await storeExists(withPassword)).toBe(false);
    await using _lock = await lockHub(withPassword);
    const absent = withPassword.replace(/\/hub_\d+/, '/absent');
    await expect(openStore(absent, 'acme')).rejects.toMatchObject({ code: 'USAGE' });
    {
      await using _store = await openStore(withPassword, 'acme');
      expect(await storeExists(withPassword)).toBe(true);
    }
    const errors: unknown[] = [
      await openStore(withPassword, 'other').catch(String),
      await openStore(absent, 'acme').catch(String),
    ];
    await server.stop('immediate');
    errors.push(await lockHub(withPassword).catch(String));
    errors.push(await openStore(withPassword, 'acme').catch(String));
    errors.push(await storeExists(withPassword).catch(String));
    expect(errors).toHaveLength(5);
    for (const error of errors) {
      expect(String(error)).toMatch(/postgres:\/\/localhost\/(hub_1|absent)/);
      expect(String(error)).not.toContain('s3cret');
    }
  });

  it('restored by pg_restore gives out no number twice after "restore --in-place", and reports lost events as a gap', async () => {
    await using server = await startPostgresql(postgresql, { fast: false });
    useServer(server);
    try {
      await using hub = await testHub();
      const agent = await enrolled(hub, 'plant-7/press-1');
      const lines = chain(agent, happenings(5));
      const hand = async (to: Hub, name: string, from: number, last: number) => {
        const stick = await hub.stick(name);
        await report(stick, agent, lines, from, last);
        await using medium = await openMedium(stick);
        return (await importReports(to, medium, NOW)).agents;
      };
      await hand(hub, 'first', 1, 2);
      const folder = path(hub.path, 'backup');
      await backUp(hub, hub.db, folder, { now: NOW, signal: new AbortController().signal });
      const dump = path(hub.path, 'hub.dump');
      await runOrFail([path(postgresql, 'pg_dump'), '--format=custom', '--file', dump, hub.db]);
      // What the backup does not have: events that were acknowledged, and a statement that was given out.
      await hand(hub, 'second', 3, 4);
      const signer = await siteSigner(hub);
      const given = await hub.store.transact((tx) => issueSite(tx, 'plant-7', signer, NOW));
      await rm(hub.layout, { recursive: true });
      await cp(path(folder, 'layout'), hub.layout, { recursive: true });
      const db = server.url(await server.create());
      await runOrFail([path(postgresql, 'pg_restore'), '--exit-on-error', '--dbname', db, dump]);
      const place = ['--keys', path(hub.path, 'keys'), '--layout', hub.layout, '--db', db];
      const at = ['--now', formatTime(new Date(NOW.getTime() + 60_000))];
      const words = ['restore', folder, '--in-place', ...place, ...at];
      await runOrFail([process.execPath, programFile('scheduler'), ...words], { cwd: hub.path });
      await using store = await openStore(db, FLEET);
      const site = await store.db.selectFrom('site').select('version').executeTakeFirstOrThrow();
      expect(site.version).toBeGreaterThan(given.version);
      const next = await store.transact((tx) => issueSite(tx, 'plant-7', signer, NOW));
      expect(next.version).toBe(site.version + 1);
      const restored = { ...hub, store };
      expect(await hand(restored, 'third', 5, 5)).toMatchObject([{ gaps: [{ from: 3, to: 4 }] }]);
    } finally {
      useServer(undefined);
    }
  }, 120_000);

  it('stores a NUL in a text as U+FFFD, and finds it by the text with the NUL', async () => {
    await using server = await startPostgresql(postgresql);
    await using store = await openStore(server.url(await server.create()), 'acme');
    await write(store, 'a\0b');
    const found = await store.db.selectFrom('receipt').select('agent').where('agent', '=', 'a\0b').execute();
    expect(found).toEqual([{ agent: 'a\u{fffd}b' }]);
  });
});
