import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { toFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { isDatabaseUrl } from '../../settings/database-url.ts';
import type { Store } from '../store/open-store.ts';
import { faultFields } from '../watch/fault-fields.ts';
import { type HubLock, lockHub, WAKE_CHANNEL } from './lock-hub.ts';
import { Gauge, type Registry } from 'prom-client';

/** Reasons for waking the leader: a source or a decision changed, facts of a gate changed, a site has a new statement. */
export type Wakeup = 'build' | 'judge' | 'sites';

/** The time in which this replica leads. */
export type Term = {
  /** Aborts when this replica leads no more: it stops, or its lock is lost. */
  readonly signal: AbortSignal;
  /** Call it right before something that cannot be taken back. @throws FleetError DATABASE_UNREACHABLE if the lock is lost */
  readonly confirm: () => Promise<void>;
};

/** A work that only the leader does. Disposal aborts and waits for it. */
export type RunningDuty = AsyncDisposable & { readonly wake?: (what: Wakeup) => void };

/** Starts a duty for one term. */
export type Duty = (term: Term) => Promise<RunningDuty>;

export type LeadOptions = {
  readonly db: string;
  readonly store: Store;
  readonly duties: readonly Duty[];
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Name of this replica in the database and the metrics. */
  readonly name?: string;
  /** Interval between two attempts to lead. */
  readonly attemptMs?: number;
};

export type Leadership = AsyncDisposable & {
  readonly name: string;
  readonly isLeading: () => boolean;
  /** Wakes the duties, here or at the replica that leads. May be called at any time, and costs nothing. */
  readonly wake: (what: Wakeup) => void;
};

const ATTEMPT_MS = 2_000;
/** Least time between two notifications of the leader for the same reason. */
const WAKE_MS = 1_000;

const WAKEUPS: readonly string[] = ['build', 'judge', 'sites'] satisfies readonly Wakeup[];

/**
 * Runs the duties while this replica holds the lock of the hub, and tries to get it while another one does. With SQLite there is one
 * replica, which always leads.
 * @throws FleetError as lockHub at the first attempt, or as a duty that does not start
 */
export const lead = async (options: LeadOptions): Promise<Leadership> => {
  const { db, store, clock, log, attemptMs = ATTEMPT_MS } = options;
  const name = options.name ?? `${hostname()}/${process.pid}`;
  const stop = new AbortController();
  let reign: Reign | undefined;
  const wakeHere = (what: string): void => {
    if (WAKEUPS.includes(what)) reign?.wake(what as Wakeup);
  };
  const attempt = async (): Promise<Reign | undefined> => {
    const lock = await lockHub(db, wakeHere);
    if (!lock) return undefined;
    const begun = await begin(lock, options, stop.signal);
    await recordLeader(store, name, clock()).catch((error: unknown) => {
      log.warn(faultFields(toFleetError(error, 'recording the leader')), 'leader not recorded');
    });
    log.info({ replica: name }, 'leads');
    return begun;
  };

  const end = async (): Promise<void> => {
    const { lost } = reign ?? {};
    await reign?.[Symbol.asyncDispose]();
    reign = undefined;
    if (lost?.aborted) log.warn(faultFields(toFleetError(lost.reason, 'leading')), 'no longer leads');
  };

  reign = await attempt();
  if (!reign) log.info({ replica: name }, 'another replica leads');

  const campaign = async (): Promise<void> => {
    let logged: string | undefined;
    while (!stop.signal.aborted) {
      if (reign) {
        await aborted(AbortSignal.any([stop.signal, reign.lost]));
        await end();
        continue;
      }
      await setTimeout(attemptMs, undefined, { signal: stop.signal }).catch(() => {});
      if (stop.signal.aborted) break;
      try {
        reign = await attempt();
        logged = undefined;
      } catch (error) {
        const fault = toFleetError(error, 'trying to lead');
        if (logged !== fault.message) log.warn(faultFields(fault), 'cannot lead');
        logged = fault.message;
      }
    }
    await end();
  };
  const running = campaign();
  const notify = notifier(db, store);

  return {
    name,
    isLeading: () => reign !== undefined && !reign.lost.aborted,
    wake: (what) => {
      if (reign) reign.wake(what);
      else notify(what);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
};

type Reign = AsyncDisposable & { readonly lost: AbortSignal; readonly wake: (what: Wakeup) => void };

const begin = async (lock: HubLock, { duties }: LeadOptions, stop: AbortSignal): Promise<Reign> => {
  // Duties end before the lock is released.
  await using starting = new AsyncDisposableStack();
  starting.use(lock);
  const term: Term = { signal: AbortSignal.any([stop, lock.lost]), confirm: lock.confirm };
  const running: RunningDuty[] = [];
  for (const start of duties) running.push(starting.use(await start(term)));
  const begun = starting.move();
  return {
    lost: lock.lost,
    wake: (what) => {
      for (const duty of running) duty.wake?.(what);
    },
    [Symbol.asyncDispose]: () => begun.disposeAsync(),
  };
};

const recordLeader = (store: Store, leader: string, now: Date): Promise<unknown> =>
  store.transact((tx) =>
    tx
      .updateTable('fleet')
      .set(({ eb }) => ({ leader, leader_since: formatTime(now), term: eb('term', '+', 1) }))
      .execute(),
  );

const aborted = async (signal: AbortSignal): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) return;
  signal.addEventListener('abort', () => resolve(), { once: true });
  await promise;
};

/** Sends at most one notification per reason and WAKE_MS. A lost one is made good by the leader's next round. */
const notifier = (db: string, store: Store): ((what: Wakeup) => void) => {
  if (!isDatabaseUrl(db)) return () => {};
  const last = new Map<Wakeup, number>();
  return (what) => {
    const now = performance.now();
    if (now - (last.get(what) ?? -WAKE_MS) < WAKE_MS) return;
    last.set(what, now);
    void sql`select pg_notify(${WAKE_CHANNEL}, ${what})`.execute(store.db).catch(() => {});
  };
};

/** Registers the metric that says whether this replica leads. */
export const exposeLeadership = (
  registry: Registry,
  { name, isLeading }: Pick<Leadership, 'name' | 'isLeading'>,
): void => {
  const leads: Gauge<'replica'> = new Gauge({
    name: 'fleet_hub_leads',
    help: 'Whether this replica builds, publishes and promotes: 1 at the one that leads, 0 at the others',
    labelNames: ['replica'],
    registers: [registry],
    collect: (): void => leads.set({ replica: name }, isLeading() ? 1 : 0),
  });
};
