import { digestOf } from '#bundles/digest';
import { pollRegistry } from '../acquire/poll-registry.ts';
import { pullRelease } from '../acquire/pull-release.ts';
import type { Agent } from '../agent.ts';
import type { Target } from '../apply/target.ts';
import { type Config, durationMs, intervalMs } from '../config/config.ts';
import { makeVisitor } from '../hub/visit-hub.ts';
import { lookAround } from '../observe/look-around.ts';
import { nextAttempt } from '../store/attempts.ts';
import { readOwned } from '../store/inventory.ts';
import { hearNeighbour } from '../store/neighbour.ts';
import { readPackages } from '../store/packages.ts';
import { sleep } from './bell.ts';
import { keepContact } from './contact.ts';
import type { Daemon } from './daemon.ts';
import { healthWaits } from './health-waits.ts';
import { keepSmall } from './keep-small.ts';
import type { Log } from './log.ts';
import { makeExclusively } from './make-exclusively.ts';
import { readNote, writeNote } from './note.ts';
import { type Persistence, registryOf } from './registry-of.ts';
import { parseWindows } from './windows.ts';

/** One answer that was lost on the way is no trouble yet, and the head of one needs no minute. */
const POLLING: Persistence = { tries: 2, patience: { headers: 15_000 } };

/** The daemon of one agent, with what is to be closed after it. @throws FleetError CONFIG_INVALID, USAGE */
export const makeDaemon = (
  agent: Agent,
  config: Config,
  log: Log,
  env: NodeJS.ProcessEnv,
): Daemon & AsyncDisposable => {
  const stack = new AsyncDisposableStack();
  const { state, edge, signal } = agent;
  const windows = parseWindows(config.windows);
  let note = readNote(state.directory);
  const contactOf = (name: 'registry' | 'hub') =>
    keepContact(name, note[name], edge.now, log, (contact) => {
      note = { ...note, [name]: contact };
      writeNote(state.directory, note);
    });
  const registry = registryOf(config, env);
  if (registry) stack.use(registry);
  // A poll comes again by itself, and until it has failed nobody is told; a pull goes on from where it was cut.
  const asked = registryOf(config, env, POLLING);
  if (asked) stack.use(asked);
  // Who asks again by himself tries each request once.
  const visitor = config.hub === '' ? undefined : makeVisitor(agent, config.hub, { env, attempts: 1 });
  if (visitor) stack.use(visitor);
  const exclusively = keepSmall(makeExclusively(agent));
  let onVerdict = (): void => {};
  const waits = stack.use(healthWaits(agent, exclusively, log, () => onVerdict()));
  return {
    look: ({ mayBegin, news }) => exclusively(() => lookAround({ ...agent, news }, { mayBegin, waits })),
    intervalMs: intervalMs(config),
    windows,
    ...(registry &&
      asked && {
        registry: {
          poll: () => pollRegistry(agent, asked, config.hub === ''),
          pull: (seen, alone) => pullRelease(agent, registry, seen, alone),
          contact: contactOf('registry'),
        },
      }),
    ...(visitor && { hub: { visit: visitor.visit, contact: contactOf('hub') } }),
    ...watchOf(agent),
    nextAttempt: () => nextAttempt(state, edge.now()),
    hear: ({ changed, asked }) => {
      onVerdict = changed;
      hearNeighbour(state.directory, 'changed', changed, signal);
      hearNeighbour(state.directory, 'asked', asked, signal);
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
