import { once } from 'node:events';
import { appendFile, readdir, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { pino } from 'pino';
import { type Duty, lead, type Leadership, type Wakeup } from '../../../scheduler/hub/serve/lead.ts';
import { siteValuesOf } from '../../../scheduler/hub/sites/issue-site.ts';
import { setValues } from '../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { openStore, type Store } from '../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { chain, FLEET, reportOf } from '../../scheduler/hub/test-hub.ts';
import { connect, enroll, handOver, networkAgent, newToken, startOffice } from './hub-process.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';

const log = pino({ level: 'silent' });

/** A receiver of the alarms of an office, and the ids of the notices that opened the alarm of an assignment. */
const startNotices = async (office: string) => {
  const taken: { readonly id: string; readonly type: string; readonly assignment: string }[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { id, type, data } = JSON.parse(await text(request)) as {
      readonly id: string;
      readonly type: string;
      readonly data: { readonly subject: { readonly assignment: string } };
    };
    taken.push({ id, type, assignment: data.subject.assignment });
    response.writeHead(204).end();
  };
  const http = createServer((request, response) => void take(request, response));
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  await writeFile(join(office, 'secret'), 'a secret of the receiver\n');
  await appendFile(
    join(office, 'fleet-scheduler.yaml'),
    `alarms: {receivers: [{name: desk, webhook: {url: "http://127.0.0.1:${(http.address() as AddressInfo).port}/", secretFile: secret}}]}\n`,
  );
  return {
    opened: (assignment: string): readonly string[] =>
      taken
        .filter((one) => one.assignment === assignment && one.type.includes('.opened.'))
        .map(({ id }) => id),
    [Symbol.asyncDispose]: async () => {
      http.closeAllConnections();
      http.close();
    },
  };
};

describeWith(['postgresql'], 'replicas with one PostgreSQL database', ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  /** What the duties of all replicas did, in order. */
  const replicas = async (db: string, stack: AsyncDisposableStack) => {
    const store = stack.use(await openStore(db, 'acme'));
    const done: string[] = [];
    const confirms = new Map<string, () => Promise<void>>();
    const replica = async (name: string): Promise<Leadership> => {
      const duty: Duty = async ({ signal, confirm }) => {
        done.push(`${name} starts`);
        confirms.set(name, confirm);
        signal.addEventListener('abort', () => done.push(`${name} aborts`));
        return {
          wake: (what: Wakeup) => void done.push(`${name} woken: ${what}`),
          [Symbol.asyncDispose]: async () => void done.push(`${name} ends`),
        };
      };
      const options = { db, store, duties: [duty], clock: () => new Date(), log, name, attemptMs: 50 };
      return stack.use(await lead(options));
    };
    return { store, done, confirms, replica };
  };

  it('have one leader, which the others wake, and another one when it stops', async () => {
    await using stack = new AsyncDisposableStack();
    const { store, done, replica } = await replicas(server.url(await server.create()), stack);
    const first = await replica('hub-0');
    const second = await replica('hub-1');
    expect([first.isLeading(), second.isLeading()]).toEqual([true, false]);
    second.wake('build');
    first.wake('judge');
    await vi.waitFor(() =>
      expect(done.toSorted()).toEqual(['hub-0 starts', 'hub-0 woken: build', 'hub-0 woken: judge']),
    );
    await first[Symbol.asyncDispose]();
    await vi.waitFor(() => expect(second.isLeading()).toBe(true));
    expect(done.slice(3)).toEqual(['hub-0 aborts', 'hub-0 ends', 'hub-1 starts']);
    await vi.waitFor(async () =>
      expect(await store.db.selectFrom('fleet').select(['leader', 'term']).execute()).toEqual([
        { leader: 'hub-1', term: 2 },
      ]),
    );
  });

  it('have another leader when the connection of the leader is cut, which stops its duties', async () => {
    await using stack = new AsyncDisposableStack();
    const database = await server.create();
    const { done, confirms, replica } = await replicas(server.url(database), stack);
    const first = await replica('hub-0');
    const confirm = confirms.get('hub-0');
    await expect(confirm?.()).resolves.toBeUndefined();
    await server.run(
      `select pg_terminate_backend(l.pid) from pg_locks l join pg_database d on d.oid = l.database
       where l.locktype = 'advisory' and d.datname = '${database}'`,
    );
    const second = await replica('hub-1');
    await expect(confirm?.()).rejects.toMatchObject({ code: 'DATABASE_UNREACHABLE' });
    await vi.waitFor(() => expect(done).toContain('hub-0 ends'));
    await vi.waitFor(() => expect([first, second].filter((one) => one.isLeading())).toHaveLength(1));
  });

  /** Opens the store of a fleet while another hub names acme in a new database. */
  const openWhileNamed = async (db: string, fleet: string): Promise<Store> => {
    await using first = await openStore(db, 'acme');
    await first.db.deleteFrom('fleet').execute();
    let opening: Promise<Store> | undefined;
    await first.db.transaction().execute(async (tx) => {
      await tx.insertInto('fleet').values({ name: 'acme', writes: 0 }).execute();
      opening = openStore(db, fleet);
      opening.catch(() => {});
      await vi.waitFor(async () => {
        const waiting = `select pid from pg_stat_activity where wait_event_type = 'Lock'`;
        expect(await server.run(waiting)).toHaveLength(1);
      });
    });
    if (opening === undefined) throw new Error('nothing was opened');
    return await opening;
  };

  it('start while another replica names the fleet of a new database', async () => {
    await using store = await openWhileNamed(server.url(await server.create()), 'acme');
    expect(await store.db.selectFrom('fleet').select('name').execute()).toEqual([{ name: 'acme' }]);
  });

  it('of another fleet are refused at the same moment', async () => {
    const db = server.url(await server.create());
    await expect(openWhileNamed(db, 'bravo')).rejects.toMatchObject({ code: 'WRONG_FLEET' });
    await using store = await openStore(db, 'acme');
    expect(await store.db.selectFrom('fleet').select('name').execute()).toEqual([{ name: 'acme' }]);
  });

  it('set lock timeout and JIT in the session, because PgBouncer refuses both at the start', async () => {
    await using store = await openStore(server.url(await server.create()), 'acme');
    const settings = sql`select name, setting, source from pg_settings where name in ('jit', 'lock_timeout') order by name`;
    expect((await settings.execute(store.db)).rows).toEqual([
      { name: 'jit', setting: 'off', source: 'session' },
      { name: 'lock_timeout', setting: '10000', source: 'session' },
    ]);
  });

  it('can claim a name after the process that held it', async () => {
    await using stack = new AsyncDisposableStack();
    const db = server.url(await server.create());
    const stores = [stack.use(await openStore(db, 'acme')), stack.use(await openStore(db, 'acme'))];
    const claim = await stores[0]?.claim('a decision');
    expect(await stores[1]?.claim('a decision')).toBeUndefined();
    await using other = await stores[1]?.claim('another decision');
    await claim?.[Symbol.asyncDispose]();
    await using again = await stores[1]?.claim('a decision');
    expect([other, again]).not.toContain(undefined);
  });

  it('take reports while another replica leads, and lead when that one is killed', async () => {
    await using office = await startOffice();
    await using notices = await startNotices(office.path);
    const db = server.url(await server.create());
    const start = () => office.serve('--db', db);
    await using first = await start();
    await using second = await start();
    const states = async (...hubs: readonly { readonly url: string }[]) =>
      await Promise.all(
        hubs.map(async ({ url }) => {
          await using client = connect(url, office.authority);
          return (await client.get('/readyz')).text;
        }),
      );
    expect(await states(first, second)).toEqual(['ready\nleads\n', 'ready\nfollows\n']);
    const agent = networkAgent('plant-7/press-1');
    const token = await newToken(office, agent.site, db);
    const cert = await enroll(second.url, office.authority, agent, token);
    await using client = connect(second.url, office.authority, { cert, key: agent.pem });
    const runs = `sha256:${'1'.repeat(64)}` as const;
    const fails = (assignment: string) =>
      [
        { type: 'package', assignment, outcome: 'created', package: runs },
        { type: 'package', assignment, outcome: 'failed', code: 'CHECK_FAILED' },
      ] as const;
    const lines = chain(agent, [...fails('kiosk-web'), ...fails('kiosk-db')]);
    expect(await handOver(client, await reportOf(agent, lines, 1, 2))).toMatchObject({ status: 200 });
    // The leader alone raises alarms.
    await vi.waitFor(() => expect(notices.opened('kiosk-web')).toHaveLength(1), {
      timeout: 60_000,
      interval: 200,
    });
    await first.stop('SIGKILL');
    expect(await handOver(client, await reportOf(agent, lines, 3, 4))).toMatchObject({ status: 200 });
    await vi.waitFor(async () => expect(await states(second)).toEqual(['ready\nleads\n']), {
      timeout: 20_000,
      interval: 200,
    });
    // What only the leader does: the statement of the site gets into the layout, by whichever of the two.
    await vi.waitFor(async () => expect(await readdir(join(office.path, 'layout'))).toContain('index.json'), {
      timeout: 20_000,
      interval: 200,
    });
    await vi.waitFor(() => expect(notices.opened('kiosk-db')).toHaveLength(1), {
      timeout: 60_000,
      interval: 200,
    });
    // The next leader repeats none but one that was under way, under its id.
    expect(new Set(notices.opened('kiosk-web')).size).toBe(1);
    await using store = await openStore(db, FLEET);
    expect(await store.db.selectFrom('event').select('seq').orderBy('seq').execute()).toEqual([
      { seq: 1 },
      { seq: 2 },
      { seq: 3 },
      { seq: 4 },
    ]);
    expect(await store.db.selectFrom('receipt').select('to_seq').execute()).toEqual([{ to_seq: 4 }]);
  }, 120_000);

  // The server gives a suspended leader's lock away after 20 seconds.
  it.runIf(LONG)(
    'of which the leader was suspended, and both asked at once, count, number and alarm once',
    async () => {
      await using office = await startOffice();
      await using notices = await startNotices(office.path);
      const db = server.url(await server.create());
      const start = () => office.serve('--db', db);
      await using first = await start();
      await using second = await start();
      const stateOf = async ({ url }: { readonly url: string }): Promise<string> => {
        await using client = connect(url, office.authority);
        return (await client.get('/readyz')).text;
      };
      const patiently = { timeout: 90_000, interval: 500 };
      const agent = networkAgent('plant-7/press-1');
      const cert = await enroll(second.url, office.authority, agent, await newToken(office, agent.site, db));
      const client = (hub: { readonly url: string }) =>
        connect(hub.url, office.authority, { cert, key: agent.pem });
      await using toFirst = client(first);
      await using toSecond = client(second);
      const runs = `sha256:${'1'.repeat(64)}` as const;
      const fails = (assignment: string) =>
        [
          { type: 'package', assignment, outcome: 'created', package: runs },
          { type: 'package', assignment, outcome: 'failed', code: 'CHECK_FAILED' },
        ] as const;
      const lines = chain(agent, [...fails('kiosk-web'), ...fails('kiosk-db')]);

      first.child.kill('SIGSTOP');
      expect(await handOver(toSecond, await reportOf(agent, lines, 1, 2))).toMatchObject({ status: 200 });
      await expect.poll(() => stateOf(second), patiently).toBe('ready\nleads\n');
      await expect.poll(() => notices.opened('kiosk-web'), patiently).toHaveLength(1);
      first.child.kill('SIGCONT');
      await expect.poll(() => stateOf(first), patiently).toBe('ready\nfollows\n');

      const rest = await reportOf(agent, lines, 3, 4);
      const other = await reportOf(agent, chain(agent, [...fails('kiosk-web'), ...fails('kiosk-fs')]), 3, 4);
      const times = Array.from({ length: 4 }, () => [toFirst, toSecond]).flat();
      const honest = await Promise.all(times.map((to) => handOver(to, rest)));
      expect(honest.map(({ status }) => status)).toEqual(times.map(() => 200));
      const forged = await Promise.all(times.map((to) => handOver(to, other)));
      expect(forged.map((answer) => (answer.json() as { code: string }).code)).toEqual(
        times.map(() => 'REPORT_CHAIN'),
      );

      await using one = await openStore(db, FLEET);
      await using two = await openStore(db, FLEET);
      const keys = await openKeyDirectory(join(office.path, 'keys'));
      const signer = await siteSigner({ keys, layout: join(office.path, 'layout') });
      const before = await one.db.selectFrom('site').select('version').executeTakeFirstOrThrow();
      const names = Array.from({ length: 20 }, (_, at) => `value${at}`);
      await Promise.all(
        names.map((name, at) =>
          setValues(
            at % 2 === 0 ? one : two,
            { site: agent.site, set: { [name]: at }, unset: [] },
            signer,
            new Date(),
          ),
        ),
      );
      const after = await one.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
      expect(after.version - before.version).toBe(names.length);
      const { values } = siteValuesOf(after, FLEET, agent.site);
      expect(Object.keys(values).toSorted()).toEqual(names.toSorted());

      await expect.poll(() => notices.opened('kiosk-db'), patiently).toHaveLength(1);
      expect([notices.opened('kiosk-web').length, notices.opened('kiosk-fs').length]).toEqual([1, 0]);
      const seqs = await one.db.selectFrom('event').select('seq').orderBy('seq').execute();
      expect(seqs.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
      expect(await one.db.selectFrom('alarm').select('agent').execute()).toHaveLength(1);
    },
    300_000,
  );
});
