import { defined } from '#bundles/defined';
import { digestOf } from '#bundles/digest';
import { durationMs } from '#bundles/duration';
import { toFleetError } from '#bundles/errors';
import { parseWindows } from '#bundles/windows';
import { type Poll, pollRegistry } from '../acquire/poll-registry.ts';
import { type RunExclusively, pullRelease } from '../acquire/pull-release.ts';
import type { Agent } from '../store/agent.ts';
import type { Target } from '../model/target.ts';
import { type Config, intervalMs } from '../config/config.ts';
import { createVisitor } from '../report/visit-hub.ts';
import { lookAround } from './look-around.ts';
import { nextAttempt } from '../store/applied/attempts.ts';
import { readOwned } from '../store/applied/inventory.ts';
import { siteHoldEnds } from '../store/site-hold.ts';
import { watchWakeups } from '../store/wake-daemon.ts';
import { readPackages } from '../store/applied/packages.ts';
import { sleep } from './wake-signal.ts';
import { keepContact } from '../store/contact.ts';
import type { Daemon } from './daemon.ts';
import { rebootDue } from '../observe/reboot/reboot-status.ts';
import { confirmUpgrade } from '../store/upgrade-trial.ts';
import { healthWaits } from './health-waits.ts';
import { logPauses } from './log-pauses.ts';
import { shrinkHeapAfter } from './shrink-heap-after.ts';
import type { Log } from '../model/log.ts';
import { readNote, writeNote } from '../observe/note.ts';
import { type Persistence, registryOf } from '../config/registry-of.ts';
import { acquireLock } from '../store/lock.ts';

/** One answer that was lost on the way is no trouble yet, and the head of one needs no minute. */
const POLLING: Persistence = { tries: 2, patience: { headers: 15_000 } };

/**
 * Builds the daemon of one agent; disposing it closes its connections. It also stops when its database is removed or replaced.
 * @throws FleetError CONFIG_INVALID, USAGE
 */
export const createDaemon = (
  given: Agent,
  config: Config,
  log: Log,
  env: NodeJS.ProcessEnv,
): Daemon & AsyncDisposable => {
  const stack = new AsyncDisposableStack();
  const moved = new AbortController();
  const signal = AbortSignal.any([given.signal, moved.signal]);
  const agent = { ...given, signal };
  const { state, edge } = agent;
  const windows = parseWindows(config.windows);
  let note = readNote(state.directory);
  const contactOf = (name: 'registry' | 'hub') =>
    keepContact(name, note[name], edge.now, log, (contact) => {
      note = { ...note, [name]: contact };
      writeNote(state.directory, note);
    });
  const onWait = logPauses(log);
  const registry = registryOf(config, env, { onWait });
  if (registry) stack.use(registry);
  // A failed poll is repeated and logged only after its retries; an interrupted pull resumes.
  const asked = registryOf(config, env, { ...POLLING, onWait });
  if (asked) stack.use(asked);
  // The daemon repeats its polls, so that each request is tried once.
  const visitor =
    config.hub === ''
      ? undefined
      : createVisitor(agent, config.hub, {
          env,
          attempts: 1,
          support: { config, env },
          signLooksMs: durationMs(config.signLooks),
        });
  if (visitor) stack.use(visitor);
  const stopIfMoved = (): void => {
    if (state.isMoved()) moved.abort();
    signal.throwIfAborted();
  };
  const unlessMoved =
    <Given extends readonly unknown[], Result>(work: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      stopIfMoved();
      return await work(...given);
    };
  const exclusively = shrinkHeapAfter(createRunExclusively(agent, stopIfMoved));
  let onVerdict = (): void => {};
  const waits = stack.use(healthWaits(agent, exclusively, log, () => onVerdict()));
  return {
    look: async ({ mayBegin, news }) => {
      try {
        const look = await exclusively(() =>
          lookAround({ ...agent, news }, { mayBegin, waits, mayReboot: { windows } }),
        );
        confirmUpgrade(state.directory);
        return look;
      } catch (error) {
        // A cause outside of the agent does not end the trial: the previous version would fail in the same way.
        if (!signal.aborted && toFleetError(error).retryable) confirmUpgrade(state.directory);
        throw error;
      }
    },
    intervalMs: intervalMs(config),
    windows,
    ...defined({
      registry:
        registry && asked
          ? {
              poll: unlessMoved(() => pollRegistry(agent, asked, config.hub === '')),
              pull: (seen: Poll, alone: RunExclusively) => pullRelease(agent, registry, seen, alone),
              contact: contactOf('registry'),
            }
          : undefined,
      hub: visitor ? { visit: unlessMoved(visitor.visit), contact: contactOf('hub') } : undefined,
    }),
    ...watchOf(agent),
    nextAttempt: () => {
      const next = [nextAttempt(state, edge.now()), siteHoldEnds(agent), rebootDue(agent)].filter(
        (date) => date !== undefined,
      );
      return next.toSorted((a, b) => a.getTime() - b.getTime())[0];
    },
    hear: ({ changed, asked }) => {
      onVerdict = changed;
      watchWakeups(state.directory, 'changed', changed, signal);
      watchWakeups(state.directory, 'asked', asked, signal);
    },
    pollMs: durationMs(config.poll),
    exclusively,
    now: edge.now,
    random: Math.random,
    sleep,
    log,
    signal,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

const watchOf = ({ state, targets }: Agent): Pick<Daemon, 'watch'> => {
  const watching = targets.filter(({ watch }) => watch !== undefined);
  if (watching.length === 0) return {};
  const ownedBy = (kind: Target['kind']) =>
    readPackages(state)
      .filter(({ current }) => current?.kind === kind)
      .flatMap(({ assignment }) => readOwned(state, assignment));
  return {
    watch: {
      owned: () => digestOf(JSON.stringify(watching.map(({ kind }) => ownedBy(kind).map(({ key }) => key)))),
      follow: async (onChange, signal) => {
        await Promise.all(watching.map(async ({ kind, watch }) => watch?.(ownedBy(kind), onChange, signal)));
      },
    },
  };
};

/** Longest wait for an operator's command to release the lock; afterwards the next round tries again. */
const LOCK_WAIT_MS = 60_000;

/**
 * Runs one piece of work at a time: in this process in the order of calls, and among processes under the lock of the state
 * directory. The lock is released after each piece, so that operators' commands can run in between.
 */
const createRunExclusively = ({ state, edge, signal }: Agent, stopIfMoved: () => void): RunExclusively => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const mine = last.then(async () => {
      // Before the lock, which would make the directory again.
      stopIfMoved();
      const how = { waitMs: LOCK_WAIT_MS, signal, bootId: edge.bootId };
      using _lock = await acquireLock(state.directory, 'run', edge.now(), how);
      return await work();
    });
    last = mine.catch(() => {});
    return mine;
  };
};
