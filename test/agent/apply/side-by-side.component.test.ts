import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../../agent/model/target.ts';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { openOperations } from '../../../agent/store/journal/operations.ts';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles, stepsDone } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const machine = (world: World) => join(world.folder, 'machine');
const order = (world: World) => stepsDone(machine(world)).map((line) => line.split(' ')[0]?.slice(10));

/** A target on which packages wait beside each other: each until the test ends its wait. */
const besides = (world: World) => {
  const waits = new Map<string, (verdict: 'passed' | 'failed') => void>();
  const folder = folderTarget(machine(world));
  const target: Target = {
    ...folder,
    waitsBeside: true,
    settle: (desired, signal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(new FleetError('ABORTED', 'a newer release')));
        waits.set(desired.assignment, (outcome) =>
          resolve([{ name: 'healthy', outcome, message: `it ${outcome}` }]),
        );
      }),
  };
  Object.assign(world.agent, { targets: [target] });
  return {
    waiting: () => [...waits.keys()].toSorted(),
    end: (assignment: string, outcome: 'passed' | 'failed' = 'passed') => {
      waits.get(assignment)?.(outcome);
      waits.delete(assignment);
    },
  };
};

/** The packages of a release, accepted and applied by one look. */
const importing = async (world: World, version: number, packages: readonly TestPackage[]) => {
  const medium = await world.medium({
    release: { version, bundle: packTestBundle(world.fleet, packages) },
  });
  return { done: importMedium(world.agent, medium) };
};

const many = (...names: readonly string[]) => names.map((name) => onePackage(name, 'one'));

describe('packages of a target that waits for them side by side', () => {
  it('are applied while others wait for their health, four of them at most', async () => {
    await using world = await createWorld();
    const { waiting, end } = besides(world);
    const { done } = await importing(world, 1, many('a', 'b', 'c', 'd', 'e'));
    await expect.poll(waiting).toEqual(['a', 'b', 'c', 'd']);
    expect(order(world)).toEqual(['a', 'b', 'c', 'd']);
    expect(readStatus(world.agent, { registry: '', hub: '', windows: [] }).unfinished).toBe(
      'apply a, settle; apply b, settle; apply c, settle; apply d, settle',
    );
    end('b');
    await expect.poll(waiting).toEqual(['a', 'c', 'd', 'e']);
    expect(findPackage(world.agent.state, 'b')?.status).toBe('healthy');
    for (const name of waiting()) end(name);
    const { packages } = await done;
    expect(packages.map(({ assignment, outcome }) => `${assignment} ${outcome}`).toSorted()).toEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => `${name} created`),
    );
    expect(openOperations(world.agent.state)).toEqual([]);
  });

  it('wait for what they depend on, and for what is critical', async () => {
    await using world = await createWorld();
    const { waiting, end } = besides(world);
    const { done } = await importing(world, 1, [
      onePackage('a', 'one', { critical: true }),
      onePackage('b', 'one'),
      onePackage('d', 'one'),
      onePackage('e', 'one', { dependsOn: ['b'] }),
    ]);
    await expect.poll(waiting).toEqual(['a']);
    expect(order(world)).toEqual(['a']);
    end('a');
    await expect.poll(waiting).toEqual(['b', 'd']);
    end('b', 'failed');
    end('d');
    const { packages } = await done;
    expect(packages).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ assignment: 'b', outcome: 'failed', code: 'CHECK_FAILED' }),
        expect.objectContaining({ assignment: 'e', outcome: 'skipped' }),
        expect.objectContaining({ assignment: 'd', outcome: 'created' }),
      ]),
    );
    expect(liveFiles(machine(world))).toEqual({ '/opt/a': 'one', '/opt/d': 'one' });
  });

  it('are rolled back one at a time, while others wait', async () => {
    await using world = await createWorld();
    const { waiting, end } = besides(world);
    const { done } = await importing(world, 1, many('a', 'b'));
    await expect.poll(waiting).toEqual(['a', 'b']);
    end('a', 'failed');
    await expect.poll(() => liveFiles(machine(world))).toEqual({ '/opt/b': 'one' });
    expect(openOperations(world.agent.state).map(({ assignment }) => assignment)).toEqual(['b']);
    end('b');
    await done;
    expect(findPackage(world.agent.state, 'a')).toMatchObject({ status: 'failed', code: 'CHECK_FAILED' });
    expect(findPackage(world.agent.state, 'b')).toMatchObject({ status: 'healthy' });
  });

  it('are all waited for again after a stop, each with one event', async () => {
    await using world = await createWorld();
    const first = besides(world);
    const stop = new AbortController();
    Object.assign(world.agent, { news: stop.signal });
    const { done } = await importing(world, 1, many('a', 'b', 'c'));
    await expect.poll(first.waiting).toEqual(['a', 'b', 'c']);
    stop.abort();
    await expect(done).rejects.toMatchObject({ code: 'ABORTED' });
    expect(
      openOperations(world.agent.state).map(({ assignment, phase }) => `${assignment} ${phase}`),
    ).toEqual(['a settle', 'b settle', 'c settle']);
    Object.assign(world.agent, { news: undefined });
    const { waiting, end } = besides(world);
    const look = lookAround(world.agent);
    await expect.poll(waiting).toEqual(['a', 'b', 'c']);
    expect(order(world)).toEqual(['a', 'b', 'c']);
    for (const name of waiting()) end(name);
    const { packages } = await look;
    expect(packages.map(({ assignment }) => assignment).toSorted()).toEqual(['a', 'b', 'c']);
    const told = world.events().filter(({ type, outcome }) => type === 'package' && outcome === 'created');
    expect(told.map(({ assignment = '' }) => assignment).toSorted(compareBytes)).toEqual(['a', 'b', 'c']);
  });

  it('go one after the other where an object moves between two of them', async () => {
    await using world = await createWorld();
    const { waiting, end } = besides(world);
    const [folder] = world.agent.targets as [Target];
    const wants: Target['wants'] = (desired) => folder.claims?.(desired) ?? new Set();
    Object.assign(world.agent, { targets: [{ ...folder, wants }] });
    const both = (a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>) => [
      onePackage('a', 'one', { files: a }),
      onePackage('b', 'one', { files: b }),
    ];
    const begun = await importing(world, 1, both({ '/opt/a': 'x', '/opt/moved': 'x' }, { '/opt/b': 'x' }));
    await expect.poll(waiting).toEqual(['a', 'b']);
    for (const name of waiting()) end(name);
    await begun.done;
    const next = await importing(world, 2, both({ '/opt/a': 'y' }, { '/opt/b': 'y', '/opt/moved': 'x' }));
    await expect.poll(waiting).toEqual(['a']);
    expect(liveFiles(machine(world))).toMatchObject({ '/opt/a': 'y', '/opt/b': 'x' });
    end('a');
    await expect.poll(waiting).toEqual(['b']);
    end('b');
    await next.done;
    expect(liveFiles(machine(world))).toEqual({ '/opt/a': 'y', '/opt/b': 'y', '/opt/moved': 'x' });
  });
});
