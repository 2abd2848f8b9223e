import { execFile } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Event } from '#bundles/report/event';
import { importMedium } from '../../agent/acquire/import-medium.ts';
import { lookAround } from '../../agent/observe/look-around.ts';
import { readOutbox } from '../../agent/report/outbox.ts';
import { readOwned } from '../../agent/store/inventory.ts';
import { acquireLock } from '../../agent/store/lock.ts';
import { readPackages } from '../../agent/store/packages.ts';
import { openState } from '../../agent/store/state.ts';
import { readFloors, readTrustRow } from '../../agent/store/trust.ts';
import { packTestBundle, type TestPackage } from '../harness/signed-medium.ts';
import { liveFiles, stepsDone } from './folder-target.ts';
import { createWorld, NOW, onePackage, storedBlobs, testAgent, type World } from './world.ts';

const program = fileURLToPath(new URL('crash-import.ts', import.meta.url));
const run = promisify(execFile);

const FAILING = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;

const before = [
  onePackage('changed', 'one', { files: { '/opt/kept': 'same', '/opt/file': 'one', '/opt/gone': 'x' } }),
  onePackage('failing', 'good'),
  onePackage('steady', 'as ever'),
];

/** The world before the import that is cut short, on disk, with no process near it. */
let world: World;
beforeAll(async () => {
  world = await createWorld();
  await world.release(1, before);
  world.agent.state[Symbol.dispose]();
});
afterAll(() => world[Symbol.asyncDispose]());

const copyOfWorld = (name: string): string => {
  const folder = join(world.folder, 'copies', name);
  for (const part of ['state', 'machine']) {
    cpSync(join(world.folder, part), join(folder, part), { recursive: true });
  }
  return folder;
};

/** Imports in a process of its own; with n, killed at the n-th boundary. Says by which signal, or what it printed. */
const importApart = async (
  folder: string,
  medium: string,
  n: number,
): Promise<{ signal: string | null; printed: string }> => {
  // Compiling the same modules in each process would be most of the work.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(world.folder, 'compiled') };
  try {
    const { stdout } = await run(process.execPath, [program, folder, medium, String(n)], { env });
    return { signal: null, printed: stdout };
  } catch (error) {
    const { signal, stderr } = error as { signal: string | null; stderr: string };
    return { signal, printed: stderr };
  }
};

/** Everything that shall be the same however often the power went: order in the chain is, moments are not. */
const endState = async (folder: string): Promise<object> => {
  using state = openState(join(folder, 'state'));
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

/** Kills an import of `after` at each of its boundaries, lets the next command go on, and compares the ends. */
const killEverywhere = async (name: string, after: readonly TestPackage[]): Promise<readonly string[]> => {
  const medium = await world.medium({ release: { version: 2, bundle: packTestBundle(world.fleet, after) } });
  const calm = copyOfWorld(`${name}-calm`);
  const { printed, signal } = await importApart(calm, medium, 0);
  expect(signal, printed).toBeNull();
  const points = printed.trimEnd().split('\n');
  const undisturbed = await endState(calm);
  const steps = stepsDone(join(calm, 'machine')).length;
  const waiting = points.map((point, index) => ({ point, n: index + 1 }));
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { point, n } = next;
      const folder = copyOfWorld(`${name}-${n}`);
      const died = await importApart(folder, medium, n);
      expect(died.signal, `${point}: ${died.printed}`).toBe('SIGKILL');
      await goOn(folder, medium, n);
      expect(await endState(folder), point).toEqual(undisturbed);
      // A step that was done and not yet written down is done again, and no other.
      const again = point.endsWith(' done') ? 1 : 0;
      expect(stepsDone(join(folder, 'machine')).length, point).toBe(steps + again);
    }
  };
  await Promise.all([worker(), worker()]);
  return points;
};

/** The next command, whichever: once the release is accepted, a look of the daemon ends it as well as another import. */
const goOn = async (folder: string, medium: string, n: number): Promise<void> => {
  using state = openState(join(folder, 'state'));
  using _lock = await acquireLock(state.directory, 'test', NOW);
  const agent = testAgent(state, folder);
  const accepted = readFloors(state).release === 2;
  if (accepted && n % 2 === 1) await lookAround(agent);
  else await importMedium(agent, medium, { prune: true });
};

describe('an import that is killed at any boundary of its journal', { timeout: 120_000 }, () => {
  it('ends as an undisturbed one, with a package that fails and rolls back', async () => {
    const points = await killEverywhere('failure', [
      onePackage('changed', 'two', {
        files: { '/opt/kept': 'same', '/opt/file': 'two', '/opt/new': 'y' },
      }),
      onePackage('failing', 'bad', { checks: FAILING }),
      onePackage('held', 'never', { dependsOn: ['failing'] }),
      onePackage('steady', 'as ever'),
    ]);
    expect(points).toContain('apply failing (roll back): kept');
    expect(points).toContain('hold held');
    expect(points.length).toBeGreaterThan(25);
  });

  it('ends as an undisturbed one, with a package renamed and one removed', async () => {
    const points = await killEverywhere('removal', [
      onePackage('renamed', 'one', { files: { '/opt/file': 'one', '/opt/kept': 'other' } }),
      onePackage('steady', 'as ever'),
    ]);
    expect(points).toContain('remove changed: kept');
    expect(points).toContain('remove failing: kept');
  });
});
