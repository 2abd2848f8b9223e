import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../../agent/model/target.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { storeAccepted } from '../../../agent/acquire/offers/store-accepted.ts';
import { judgeOffer } from '../../../agent/acquire/offers/judge-offer.ts';
import { readOffer } from '../../../agent/acquire/offers/read-offer.ts';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles, stepsDone } from '../folder-target.ts';
import { verdict } from '../../bundles/verdict.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const machine = (world: World) => join(world.folder, 'machine');
const slow = (
  id: string,
  content: string,
  more: Partial<TestPackage> = {},
  timeoutSeconds = 3600,
): TestPackage =>
  onePackage(id, content, {
    checks: [{ type: 'exec', name: 'answers', argv: ['true'], timeoutSeconds }],
    ...more,
  });

/** Accepts a release as the daemon does beside a look, and applies nothing. */
const accept = async (world: World, version: number, packages: readonly TestPackage[]): Promise<void> => {
  const bundle = packTestBundle(world.fleet, packages);
  await using medium = await openMedium(await world.medium({ release: { version, bundle } }));
  storeAccepted(world.agent, await judgeOffer(world.agent, await readOffer(world.agent, medium)));
};

/** A machine on which one file is never known to be healthy until the test says so; `waiting` fires when the agent waits for it. */
const waitsFor = (world: World, content: string) => {
  const folder = folderTarget(machine(world));
  const begun = Promise.withResolvers<void>();
  const state = { healthy: false };
  const target: Target = {
    ...folder,
    settle: async (desired, signal) => {
      const own = [...desired.files.values()].some((bytes) => bytes.toString() === content);
      if (own && !state.healthy) {
        begun.resolve();
        await new Promise<void>((resolve) => {
          signal.addEventListener('abort', () => resolve());
        });
        signal.throwIfAborted();
      }
      return folder.settle(desired, signal);
    },
  };
  Object.assign(world.agent, { targets: [target] });
  return { begun: begun.promise, state };
};

describe('a package with a long timeout', () => {
  it('is applied after all packages that do not depend on it, for any name', async () => {
    await using world = await createWorld();
    const behind = onePackage('d', 'one', { dependsOn: ['a'] });
    await world.release(1, [slow('a', 'one'), onePackage('b', 'one'), onePackage('c', 'one'), behind]);
    expect(stepsDone(machine(world)).map((line) => line.split(' ')[0])).toEqual([
      'file:/opt/b',
      'file:/opt/c',
      'file:/opt/a',
      'file:/opt/d',
    ]);
  });

  const takes = (seconds: number, workspace: string): Partial<TestPackage> => ({
    workspace,
    checks: [{ type: 'exec', name: 'answers', argv: ['true'], timeoutSeconds: seconds }],
  });
  const order = (world: World) => stepsDone(machine(world)).map((line) => line.split(' ')[0]?.slice(10));

  it('N76: of a team with many keeps another team waiting no longer than that may keep it waiting -> ACCEPT', async () => {
    await using world = await createWorld();
    const many = [1, 2, 3, 4].map((at) => onePackage(`a${at}`, 'x', takes(200, 'evil')));
    const others = [onePackage('y', 'x', takes(450, 'calm')), onePackage('z', 'x', takes(100, 'quick'))];
    expect(await verdict(() => world.release(1, [...many, ...others]))).toBe('ACCEPT');
    expect(order(world)).toEqual(['a1', 'z', 'a2', 'y', 'a3', 'a4']);
  });

  it('N76: on a target where all may take as long, goes in turns of the teams -> ACCEPT', async () => {
    await using world = await createWorld();
    Object.assign(world.agent, { targets: [{ ...folderTarget(machine(world)), seconds: 300 }] });
    const many = [1, 2, 3].map((at) => onePackage(`a${at}`, 'x', { workspace: 'evil' }));
    const others = ['y', 'z'].map((id) => onePackage(id, 'x', { workspace: 'calm' }));
    expect(await verdict(() => world.release(1, [...many, ...others]))).toBe('ACCEPT');
    expect(order(world)).toEqual(['a1', 'y', 'a2', 'z', 'a3']);
  });

  it('N76: does not keep the removal of another team waiting -> ACCEPT', async () => {
    await using world = await createWorld();
    await world.release(1, [
      onePackage('a', 'one', { workspace: 'evil' }),
      onePackage('old', 'one', { workspace: 'calm' }),
    ]);
    const { begun } = waitsFor(world, 'two');
    const news = new AbortController();
    const next = [slow('a', 'two', { workspace: 'evil' })];
    expect(await verdict(() => accept(world, 2, next))).toBe('ACCEPT');
    const look = lookAround({ ...world.agent, news: news.signal });
    await begun;
    expect(liveFiles(machine(world))).toEqual({ '/opt/a': 'two' });
    expect(findPackage(world.agent.state, 'old')).toBeUndefined();
    news.abort();
    await expect(look).rejects.toThrow();
  });

  it('keeps a file that it takes over from a removed package of another team', async () => {
    await using world = await createWorld();
    await world.release(1, [
      onePackage('a', 'one', { workspace: 'evil' }),
      onePackage('old', 'one', { workspace: 'calm', files: { '/opt/shared': 'one' } }),
    ]);
    const files = { '/opt/a': 'two', '/opt/shared': 'one' };
    await world.release(2, [slow('a', 'two', { workspace: 'evil', files })]);
    expect(liveFiles(machine(world))).toEqual(files);
    expect(stepsDone(machine(world)).filter((line) => line.includes('shared'))).toEqual([
      'file:/opt/shared created',
    ]);
    expect(readOwned(world.agent.state, 'a').map(({ key }) => key)).toEqual([
      'file:/opt/a',
      'file:/opt/shared',
    ]);
    expect(findPackage(world.agent.state, 'old')).toBeUndefined();
  });

  it.each([3600, 100])(
    'does not delay the packages of the next release, and settles after them: %d s',
    async (seconds) => {
      await using world = await createWorld();
      await world.release(1, [onePackage('a', 'one'), onePackage('b', 'one')]);
      const { begun, state } = waitsFor(world, 'two');
      const news = new AbortController();
      await accept(world, 2, [slow('a', 'two', {}, seconds), onePackage('b', 'one')]);
      const look = lookAround({ ...world.agent, news: news.signal });
      await begun;
      await accept(world, 3, [slow('a', 'two', {}, seconds), onePackage('b', 'three')]);
      news.abort();
      await expect(look).rejects.toMatchObject({ code: 'ABORTED' });
      expect(openOperation(world.agent.state)).toMatchObject({ assignment: 'a', phase: 'settle' });
      const stop = new AbortController();
      const next = lookAround({ ...world.agent, news: stop.signal });
      await expect.poll(() => liveFiles(machine(world))).toEqual({ '/opt/a': 'two', '/opt/b': 'three' });
      expect(findPackage(world.agent.state, 'b')?.current?.release.version).toBe(3);
      await expect.poll(() => openOperation(world.agent.state)?.phase).toBe('settle');
      stop.abort();
      await expect(next).rejects.toMatchObject({ code: 'ABORTED' });
      // Nobody else waits now: the wait goes on, and the package is kept.
      state.healthy = true;
      await lookAround(world.agent);
      expect(findPackage(world.agent.state, 'a')).toMatchObject({
        status: 'healthy',
        current: { release: { version: 3 } },
      });
      expect(readOwned(world.agent.state, 'a').map(({ key }) => key)).toEqual(['file:/opt/a']);
    },
  );

  it('rolls back to its last good version when it fails after packages that were applied first', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('a', 'one'), onePackage('b', 'one')]);
    const { begun, state } = waitsFor(world, 'two');
    const news = new AbortController();
    const bad = slow('a', 'two', {
      checks: [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 3600 }],
    });
    await accept(world, 2, [bad, onePackage('b', 'one')]);
    const look = lookAround({ ...world.agent, news: news.signal });
    await begun;
    await accept(world, 3, [bad, onePackage('b', 'three')]);
    news.abort();
    await expect(look).rejects.toMatchObject({ code: 'ABORTED' });
    state.healthy = true;
    const { packages } = await lookAround(world.agent);
    expect(packages).toMatchObject([
      { assignment: 'b', outcome: 'configured' },
      { assignment: 'a', outcome: 'failed', rolledBack: true },
    ]);
    expect(liveFiles(machine(world))).toEqual({ '/opt/a': 'one', '/opt/b': 'three' });
  });

  it('ends in the same state when the agent is killed while others are applied first', async () => {
    /** Kills at the boundary `at` of the journal of the look after the wait; true if the look had one. */
    const killedAt = async (at: number): Promise<boolean> => {
      await using world = await createWorld();
      await world.release(1, [onePackage('a', 'one'), onePackage('b', 'one'), onePackage('old', 'one')]);
      const { begun, state } = waitsFor(world, 'two');
      const news = new AbortController();
      await accept(world, 2, [slow('a', 'two'), onePackage('b', 'one'), onePackage('old', 'one')]);
      const look = lookAround({ ...world.agent, news: news.signal });
      await begun;
      await accept(world, 3, [slow('a', 'two'), onePackage('b', 'three')]);
      news.abort();
      await expect(look).rejects.toMatchObject({ code: 'ABORTED' });
      state.healthy = true;
      let boundary = 0;
      const killed = { ...world.agent };
      killed.onJournal = () => {
        boundary += 1;
        if (boundary === at) throw new Error('killed');
      };
      const isKilled = await lookAround(killed).then(
        () => false,
        () => true,
      );
      await lookAround(world.agent);
      expect(liveFiles(machine(world)), `boundary ${at}`).toEqual({ '/opt/a': 'two', '/opt/b': 'three' });
      for (const id of ['a', 'b'])
        expect(findPackage(world.agent.state, id), `boundary ${at}`).toMatchObject({
          status: 'healthy',
          current: { release: { version: 3 } },
        });
      expect(openOperation(world.agent.state)).toBeUndefined();
      return isKilled;
    };
    let at = 1;
    while (await killedAt(at)) at += 1;
    expect(at).toBeGreaterThan(10);
  });
});
