import { cpSync } from 'node:fs';
import { join } from 'node:path';
import type { Event } from '#bundles/formats/events/event';
import { importMedium } from '../../agent/daemon/import-medium.ts';
import type { Agent } from '../../agent/store/agent.ts';
import { lookAround } from '../../agent/daemon/look-around.ts';
import { readOutbox } from '../../agent/store/outbox/outbox.ts';
import { readOwned } from '../../agent/store/applied/inventory.ts';
import { acquireLock } from '../../agent/store/lock.ts';
import { readPackages } from '../../agent/store/applied/packages.ts';
import { readFloors, readTrustRow } from '../../agent/store/trust.ts';
import { packTestBundle, type TestPackage } from '../harness/fleets/signed-medium.ts';
import { liveFiles } from './folder-target.ts';
import { createWorld, NOW, onePackage, openFast, storedBlobs, testAgent, type World } from './world.ts';

const FAILING = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;

const before = [
  onePackage('changed', 'one', { files: { '/opt/kept': 'same', '/opt/file': 'one', '/opt/gone': 'x' } }),
  onePackage('failing', 'good'),
  onePackage('steady', 'as ever'),
];

/** Second releases, each with the boundaries it must pass for a test of it to be worth anything. */
export const SCENARIOS: readonly {
  readonly name: string;
  readonly after: readonly TestPackage[];
  readonly passes: readonly string[];
}[] = [
  {
    name: 'with a package that fails and rolls back',
    after: [
      onePackage('changed', 'two', {
        files: { '/opt/kept': 'same', '/opt/file': 'two', '/opt/new': 'y' },
      }),
      onePackage('failing', 'bad', { checks: FAILING }),
      onePackage('held', 'never', { dependsOn: ['failing'] }),
      onePackage('steady', 'as ever'),
    ],
    passes: ['accepted', 'apply changed: step 4 done', 'apply failing (roll back): kept', 'hold held'],
  },
  {
    name: 'with a package renamed and two removed',
    after: [
      onePackage('renamed', 'one', { files: { '/opt/file': 'one', '/opt/kept': 'other' } }),
      onePackage('steady', 'as ever'),
    ],
    passes: ['apply renamed: kept', 'remove changed: kept', 'remove failing: kept'],
  },
];

/** A world before the import that is cut short: on disk, with nothing open. */
export const createWorldBefore = async (): Promise<World> => {
  const world = await createWorld();
  await world.release(1, before);
  world.agent.state[Symbol.dispose]();
  return world;
};

export const secondMedium = (world: World, after: readonly TestPackage[]): Promise<string> =>
  world.medium({ release: { version: 2, bundle: packTestBundle(world.fleet, after) } });

export const copyOfWorld = (world: World, name: string): string => {
  const folder = join(world.folder, 'copies', name);
  for (const part of ['state', 'machine']) {
    cpSync(join(world.folder, part), join(folder, part), { recursive: true });
  }
  return folder;
};

/** Everything that shall be the same however often the power went: order in the chain is, moments are not. */
export const endState = async (folder: string): Promise<object> => {
  using state = openFast(join(folder, 'state'));
  const packages = readPackages(state);
  return {
    live: liveFiles(join(folder, 'machine')),
    packages,
    owned: packages.map(({ assignment }) => readOwned(state, assignment)),
    floors: readFloors(state),
    trust: readTrustRow(state),
    blobs: [...(await storedBlobs(state))].toSorted(),
    events: readOutbox(state).map(({ line }) => {
      const { prev: _, monotonicMs: __, ...event } = JSON.parse(line) as Event;
      return event;
    }),
  };
};

/** The next command, whichever: once the release is accepted, a look of the daemon ends it as well as another import. */
export const goOn = async (folder: string, medium: string, n: number): Promise<void> => {
  using state = openFast(join(folder, 'state'));
  using _lock = await acquireLock(state.directory, 'test', NOW);
  const agent: Agent = testAgent(state, folder);
  const accepted = readFloors(state).release === 2;
  if (accepted && n % 2 === 1) await lookAround(agent);
  else await importMedium(agent, medium, { prune: true });
};
