import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { GENESIS, hashLine } from '#bundles/formats/events/event';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { type PostgresqlServer, startPostgresql } from '../../harness/neighbours/postgresql.ts';
import { NEXT } from '../../scheduler/hub/store/next-release.ts';
import { chain, FLEET, happenings, reportOf } from '../../scheduler/hub/test-hub.ts';
import {
  connect,
  enroll,
  type HubProcess,
  handOver,
  type NetworkAgent,
  networkAgent,
  newToken,
  type Office,
  startOffice,
} from './hub-process.ts';

/** Reports of each agent, and events of each report. */
const SIZE = 50;
/** Between reports of one agent in a usual run, so that the rest of the machine goes on; a long run has no pause. */
const PAUSE_MS = 250;

const numbers = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

/** Some hubs with one database, of which any may be dead at any time. */
type Hubs = AsyncDisposable & {
  readonly office: Office;
  readonly db: string;
  /** The URL of one that was alive a moment ago. */
  readonly url: () => string;
  /** Kills one, at random, and starts it again. */
  readonly kill: () => Promise<void>;
  /** Exit codes of those that ended although nobody killed them. */
  readonly ended: () => readonly (number | null)[];
};

const startHubs = async (db: string | undefined, count: number): Promise<Hubs> => {
  await using starting = new AsyncDisposableStack();
  const office = starting.use(await startOffice());
  const words = db === undefined ? [] : ['--db', db];
  const running: HubProcess[] = [];
  for (let at = 0; at < count; at++) running.push(await office.serve(...words));
  const random = (): number => Math.floor(Math.random() * running.length);
  starting.defer(async () => {
    for (const hub of running) await hub[Symbol.asyncDispose]();
  });
  const started = starting.move();
  return {
    office,
    db: db ?? join(office.path, 'hub.db'),
    url: () => running[random()]?.url ?? '',
    kill: async () => {
      const at = random();
      await running[at]?.stop('SIGKILL');
      running[at] = await office.serve(...words);
    },
    ended: () => running.map(({ child }) => child.exitCode).filter((code) => code !== null),
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
};

type Enrolled = { readonly agent: NetworkAgent; readonly cert: string };

const admit = async ({ office, db, url }: Hubs, count: number): Promise<readonly Enrolled[]> => {
  const agents = numbers(count).map((at) => networkAgent(`plant-${at}/host`));
  return Promise.all(
    agents.map(async (agent) => {
      const token = await newToken(office, agent.site, db);
      return { agent, cert: await enroll(url(), office.authority, agent, token) };
    }),
  );
};

/** What agents hand over until the signal: a report again until it is acknowledged, and never after. @returns events by agent */
const handOverUntil = async (
  { office, url }: Hubs,
  agents: readonly Enrolled[],
  signal: AbortSignal,
): Promise<{ readonly sent: ReadonlyMap<string, number>; readonly failures: number }> => {
  const sent = new Map<string, number>();
  let failures = 0;
  const work = agents.map(async ({ agent, cert }) => {
    const lines: string[] = [];
    for (let batch = 0; !signal.aborted; ) {
      lines.push(...chain(agent, happenings(SIZE), lines.length + 1, lastHash(lines)));
      const report = await reportOf(agent, lines, batch * SIZE + 1, (batch + 1) * SIZE);
      for (;;) {
        const status = await once(url(), office.authority, { cert, key: agent.pem }, report);
        if (status === 200) break;
        // A hub that cannot do it now says so; it must not refuse what is right.
        if (status !== undefined && status < 500) throw new Error(`answered ${status}`);
        failures += 1;
        await setTimeout(50);
      }
      batch += 1;
      sent.set(agent.id, batch * SIZE);
      if (!LONG) await setTimeout(PAUSE_MS);
    }
  });
  await Promise.all(work);
  return { sent, failures };
};

const lastHash = (lines: readonly string[]): Digest => {
  const last = lines.at(-1);
  return last === undefined ? GENESIS : hashLine(last);
};

const once = async (
  url: string,
  authority: string,
  credential: { readonly cert: string; readonly key: string },
  report: Parameters<typeof handOver>[1],
): Promise<number | undefined> => {
  await using client = connect(url, authority, credential);
  try {
    return (await handOver(client, report)).status;
  } catch {
    // Nobody knows whether it was taken.
    return undefined;
  }
};

/** Each event that was sent is stored once, in an unbroken chain, and nothing else. */
const expectEachOnce = async (db: string, sent: ReadonlyMap<string, number>): Promise<number> => {
  await using store = await openStore(db, FLEET);
  for (const [agent, count] of sent) {
    const rows = await store.db
      .selectFrom('event')
      .select(['seq', 'hash', 'prev'])
      .where('agent', '=', agent)
      .orderBy('seq')
      .execute();
    expect(rows.map(({ seq }) => seq)).toEqual(numbers(count));
    expect(rows.every(({ prev }, at) => at === 0 || prev === rows[at - 1]?.hash)).toBe(true);
    const head = await store.db.selectFrom('agent').select('head_seq').where('id', '=', agent).execute();
    expect(head).toEqual([{ head_seq: count }]);
  }
  expect(await store.db.selectFrom('alarm').selectAll().execute()).toEqual([]);
  return [...sent.values()].reduce((sum, count) => sum + count, 0);
};

const under = async (hubs: Hubs, faults: readonly (() => Promise<void>)[], title: string): Promise<void> => {
  const agents = await admit(hubs, 4);
  const done = new AbortController();
  const work = handOverUntil(hubs, agents, done.signal);
  work.catch(() => {});
  for (const fault of faults) {
    await setTimeout(100 + Math.random() * 400);
    await fault();
  }
  await setTimeout(500);
  done.abort();
  const { sent, failures } = await work;
  expect(hubs.ended()).toEqual([]);
  const events = await expectEachOnce(hubs.db, sent);
  expect(events).toBeGreaterThan(0);
  if (LONG)
    console.log(`${title}: ${faults.length} faults, ${failures} tries failed, ${events} events, each once`);
};

/** A newer program migrates the database beside the hubs, which go on and start with it. */
const migrate = async ({ db }: Hubs): Promise<void> => {
  await using newer = await openStore(db, FLEET, { migrations: NEXT });
  const added = await sql<{ old: number }>`select count(*) as old from event where next = 0`.execute(
    newer.db,
  );
  expect(added.rows).toHaveLength(1);
};

it('on SQLite, a hub that is killed at random and migrated has each acknowledged event once, and no other', async () => {
  await using hubs = await startHubs(undefined, 1);
  const kills = (count: number) => Array<() => Promise<void>>(count).fill(hubs.kill);
  const faults = [...kills(LONG ? 25 : 1), () => migrate(hubs), ...kills(LONG ? 25 : 1)];
  await under(hubs, faults, 'SQLite, hub killed, migrated');
}, 1_800_000);

/**
 * Hands over a report to a hub that is killed before a step of ingest, for each step, and the same report to the next hub. A usual run
 * tries the last two: before the commit, and between commit and receipt. @returns the number of steps
 */
const killAtEach = async (office: Office, db: string, words: readonly string[]): Promise<number> => {
  const agent = networkAgent('plant-1/host');
  const lines = chain(agent, happenings(200));
  let cert: string | undefined;
  const tryStep = async (step: number) => {
    await using hub = await office.serveUntil(step, ...words);
    cert ??= await enroll(hub.url, office.authority, agent, await newToken(office, agent.site, db));
    await using client = connect(hub.url, office.authority, { cert, key: agent.pem });
    const before = await eventsIn(db);
    // What the hub before may have stored without a receipt.
    if (before > 0) {
      const again = await reportOf(agent, lines, before - 1, before);
      expect(await handOver(client, again)).toMatchObject({ status: 200 });
      expect(await eventsIn(db)).toBe(before);
    }
    hub.child.kill('SIGUSR2');
    await expect.poll(() => hub.log.some(({ msg }) => msg === 'armed')).toBe(true);
    const report = await reportOf(agent, lines, before + 1, before + 2);
    const status = await handOver(client, report).then(
      (reply) => reply.status,
      () => undefined,
    );
    if (status !== undefined)
      await expect.poll(() => hub.log.some(({ msg }) => msg === 'answers')).toBe(true);
    const steps = Number(hub.log.find(({ msg }) => msg === 'answers')?.['steps']);
    return { status, steps, stored: (await eventsIn(db)) - before };
  };
  // The first report over a new certificate also notes the certificate, which takes steps of its own.
  expect(await tryStep(0)).toMatchObject({ status: 200, stored: 2 });
  const { steps, ...undisturbed } = await tryStep(0);
  expect(undisturbed).toEqual({ status: 200, stored: 2 });
  for (const step of LONG ? numbers(steps) : [steps - 1, steps]) {
    const { status, stored } = await tryStep(step);
    // All of a report or nothing, and all once it is committed.
    expect([step, status, stored]).toEqual([step, undefined, step === steps ? 2 : 0]);
  }
  expect(await tryStep(0)).toMatchObject({ status: 200, stored: 2 });
  await expectEachOnce(db, new Map([[agent.id, await eventsIn(db)]]));
  return steps;
};

const eventsIn = async (db: string): Promise<number> => {
  await using store = await openStore(db, FLEET);
  const { events } = await store.db
    .selectFrom('event')
    .select(({ fn }) => fn.countAll<number>().as('events'))
    .executeTakeFirstOrThrow();
  return events;
};

it('on SQLite, a hub that is killed before any step of ingest has a report completely or not at all', async () => {
  await using office = await startOffice();
  const steps = await killAtEach(office, join(office.path, 'hub.db'), []);
  if (LONG) console.log(`SQLite: killed before each of ${steps} steps`);
}, 600_000);

describeWith(['postgresql'], 'on PostgreSQL, two replicas', ({ postgresql }) => {
  let server: PostgresqlServer;
  beforeAll(async () => {
    server = await startPostgresql(postgresql, { fast: false });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  it('have each acknowledged event once when replicas, connections and the server are killed and a newer program migrates', async () => {
    const database = await server.create();
    await using hubs = await startHubs(server.url(database), 2);
    const cut = async (): Promise<void> => {
      await server.run(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}' and pid <> pg_backend_pid()`,
      );
    };
    const crash = async (): Promise<void> => {
      await server.stop('immediate');
      await setTimeout(Math.random() * 1_000);
      await server.start();
    };
    const faults = [cut, crash, () => migrate(hubs), hubs.kill];
    await under(
      hubs,
      numbers(LONG ? 60 : 4).map((_, at) => faults[at % faults.length] ?? cut),
      'PostgreSQL, replica, connections and server killed, migrated',
    );
  }, 900_000);

  if (LONG)
    it('that are killed before any step of ingest have a report completely or not at all', async () => {
      await using office = await startOffice();
      const db = server.url(await server.create());
      const steps = await killAtEach(office, db, ['--db', db]);
      console.log(`PostgreSQL: killed before each of ${steps} steps`);
    }, 600_000);
});
