import { writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { confirmPrune } from '../../../agent/apply/operator/confirm-prune.ts';
import { retryPackages } from '../../../agent/apply/operator/retry-packages.ts';
import { undoRollback } from '../../../agent/apply/operator/undo-rollback.ts';
import { rollBackPackage } from '../../../agent/apply/operator/roll-back-package.ts';
import type { Target } from '../../../agent/model/target.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { liveFiles, stepsDone } from '../folder-target.ts';
import { createWorld, onePackage, POLICY, type World } from '../world.ts';

const live = (world: World) => liveFiles(join(world.folder, 'machine'));
const steps = (world: World) => stepsDone(join(world.folder, 'machine'));
const row = (world: World, assignment: string) => findPackage(world.agent.state, assignment);

/** Events after the first `count`, cut to what a test looks at. */
const told = (world: World, count: number) =>
  world
    .events()
    .slice(count)
    .map(({ type, assignment, outcome, code }) => [type, assignment, outcome, code]);

const exec = (word: 'true' | 'false') =>
  [{ type: 'exec', name: 'answers', argv: [word], timeoutSeconds: 1 }] as const;

const unhealthy = (id: string, content: string, more: Partial<TestPackage> = {}) =>
  onePackage(id, content, { checks: exec('false'), ...more });

describe('a package that fails', () => {
  it('is rolled back to its last good version, with an event; others are not affected', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one', { checks: exec('true') }), onePackage('other', 'one')]);
    const count = world.events().length;
    const result = await world.release(2, [unhealthy('app', 'two'), onePackage('other', 'two')]);
    expect(result.packages).toMatchObject([
      { assignment: 'app', outcome: 'failed', code: 'CHECK_FAILED', rolledBack: true },
      { assignment: 'other', outcome: 'configured' },
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/other': 'two' });
    expect(row(world, 'app')).toMatchObject({ status: 'failed', code: 'CHECK_FAILED' });
    expect(row(world, 'app')?.current?.release.version).toBe(1);
    expect(told(world, count)).toEqual([
      ['imported', undefined, undefined, undefined],
      ['package', 'app', 'failed', 'CHECK_FAILED'],
      ['check', 'app', 'failed', 'CHECK_FAILED'],
      ['rolled-back', 'app', 'configured', 'CHECK_FAILED'],
      ['check', 'app', undefined, undefined],
      ['package', 'other', 'configured', undefined],
    ]);
  });

  it('keeps the name and output of its failed check in the status and in each event', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const failed = { name: 'answers', outcome: 'failed', message: 'not fine', output: 'no answer' };
    const count = world.events().length;
    await world.release(2, [unhealthy('app', 'two')]);
    const tells = (from: number) =>
      world
        .events()
        .slice(from)
        .flatMap(({ type, code, message, detail }) =>
          code === undefined || type === 'imported' ? [] : [[type, message, detail?.['checks']]],
        );
    expect(tells(count)).toEqual(
      ['package', 'check', 'rolled-back'].map((type) => [type, 'answers: not fine', [failed]]),
    );
    const offline = { registry: '', hub: '', windows: [] };
    expect(readStatus(world.agent, offline).packages[0]).toMatchObject({
      status: 'failed',
      failedChecks: [failed],
    });
    await world.release(3, [onePackage('app', 'one')]);
    expect(readStatus(world.agent, offline).packages[0]).toMatchObject({ failedChecks: [] });
    const again = world.events().length;
    await world.release(4, [unhealthy('app', 'two')]);
    expect(tells(again)).toMatchObject([['package', expect.stringContaining('answers: not fine'), [failed]]]);
  });

  it('that is removed reports which original files were restored', async () => {
    await using world = await createWorld();
    await mkdir(join(world.folder, 'machine/live/opt'), { recursive: true });
    writeFileSync(join(world.folder, 'machine/live/opt/app'), 'somebody else’s');
    await world.release(1, [onePackage('app', 'one'), onePackage('other', 'one')]);
    const message = 'left here: file:/opt/app (the state before the package is restored)';
    const { packages } = await world.release(2, [onePackage('other', 'one')]);
    expect(packages).toEqual([{ assignment: 'app', outcome: 'deleted', message }]);
    expect(world.events().at(-1)).toMatchObject({ type: 'removed', outcome: 'deleted', message });
  });

  it('without a last good version is removed, and the original files are restored', async () => {
    await using world = await createWorld();
    await mkdir(join(world.folder, 'machine/live/opt'), { recursive: true });
    writeFileSync(join(world.folder, 'machine/live/opt/app'), 'somebody else’s');
    await world.release(1, [unhealthy('app', 'one')]);
    expect(live(world)).toEqual({ '/opt/app': 'somebody else’s' });
    expect(readOwned(world.agent.state, 'app')).toEqual([]);
    expect(row(world, 'app')).toMatchObject({ status: 'failed', current: undefined });
  });

  it('is rolled back when a step fails half way', async () => {
    await using world = await createWorld();
    const files = (a: string, b: string) => ({ files: { '/opt/a': a, '/opt/b': b } });
    await world.release(1, [onePackage('app', '', files('1', '1'))]);
    const result = await world.release(2, [onePackage('app', '', files('2', 'refuse'))]);
    expect(result.packages).toMatchObject([{ outcome: 'failed', code: 'APPLY_FAILED', rolledBack: true }]);
    expect(live(world)).toEqual({ '/opt/a': '1', '/opt/b': '1' });
    const failed = world.events().find(({ outcome }) => outcome === 'failed');
    expect(failed?.detail?.['changes']).toMatchObject([
      { key: 'file:/opt/a', outcome: 'configured' },
      { key: 'file:/opt/b', outcome: 'failed' },
    ]);
  });

  it('is not tried again by import or daemon until it changes', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, [unhealthy('app', 'two')]);
    const medium = await world.medium({ release: { version: 2, bundle } });
    await importMedium(world.agent, medium);
    const [count, done] = [world.events().length, steps(world).length];
    const again = await importMedium(world.agent, medium);
    expect(again.packages).toMatchObject([{ assignment: 'app', outcome: 'failed', code: 'CHECK_FAILED' }]);
    expect((await lookAround(world.agent)).packages).toMatchObject([{ outcome: 'failed' }]);
    expect(world.events()).toHaveLength(count);
    expect(steps(world)).toHaveLength(done);
    await world.release(3, [onePackage('app', 'three')]);
    expect(live(world)).toEqual({ '/opt/app': 'three' });
    expect(row(world, 'app')).toMatchObject({ status: 'healthy', code: undefined });
  });

  it('is reported again, and not tried, when a later release has the same package', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [unhealthy('app', 'two')]);
    await world.release(3, [onePackage('app', 'one')]);
    expect(row(world, 'app')).toMatchObject({ status: 'healthy' });
    const [count, done] = [world.events().length, steps(world).length];
    await world.release(4, [unhealthy('app', 'two')]);
    expect(steps(world)).toHaveLength(done);
    expect(told(world, count)).toEqual([
      ['imported', undefined, undefined, undefined],
      ['package', 'app', 'failed', 'CHECK_FAILED'],
    ]);
    expect(row(world, 'app')).toMatchObject({ status: 'failed' });
  });

  it('is tried again by a retry, which is reported with the operator', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', '', { files: { '/opt/app': 'refuse' } })]);
    const count = world.events().length;
    expect(await retryPackages(world.agent, ['app'])).toMatchObject([{ outcome: 'failed' }]);
    expect(told(world, count).map(([type]) => type)).toEqual(['operator', 'package', 'rolled-back']);
    expect(world.events()[count]?.detail).toEqual({ action: 'retry', operator: 'technician' });
    writeFileSync(join(world.folder, 'machine/mended'), '');
    expect(await retryPackages(world.agent, [])).toMatchObject([{ outcome: 'created' }]);
    expect(row(world, 'app')).toMatchObject({ status: 'healthy' });
    await expect(retryPackages(world.agent, ['nobody'])).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('holds back its dependents, and no others', async () => {
    await using world = await createWorld();
    const result = await world.release(1, [
      unhealthy('base', 'one'),
      onePackage('app', 'one', { dependsOn: ['base'] }),
      onePackage('top', 'one', { dependsOn: ['app'] }),
      onePackage('other', 'one'),
    ]);
    expect(result.packages.map(({ assignment, outcome }) => [assignment, outcome])).toEqual([
      ['base', 'failed'],
      ['app', 'skipped'],
      ['other', 'created'],
      ['top', 'skipped'],
    ]);
    expect(live(world)).toEqual({ '/opt/other': 'one' });
    const count = world.events().length;
    await lookAround(world.agent);
    expect(world.events()).toHaveLength(count);
  });

  it('stops all later packages when it is critical, and critical ones are applied first', async () => {
    await using world = await createWorld();
    const result = await world.release(1, [
      onePackage('app', 'one'),
      unhealthy('shared', 'one', { critical: true }),
    ]);
    expect(result.packages).toMatchObject([
      { assignment: 'shared', outcome: 'failed' },
      {
        assignment: 'app',
        outcome: 'skipped',
        message:
          'the critical package shared failed; repair that package, then run: fleet-agent retry shared',
      },
    ]);
    expect(live(world)).toEqual({});
  });

  it('because its layer has another content than its digest is never written', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const done = steps(world).length;
    const result = await world.release(2, [onePackage('app', 'two', { lie: true })]);
    expect(result.packages).toMatchObject([
      { outcome: 'failed', code: 'DIGEST_MISMATCH', rolledBack: false },
    ]);
    // The status is the only place where a technician can read what to do.
    expect(result.packages[0]?.message).toMatch(/\(Tell the platform team: .*\)$/);
    expect(steps(world)).toHaveLength(done);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('settling that was interrupted by a stop has not failed: the next run continues it', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'two')]);
    const medium = await world.medium({ release: { version: 2, bundle } });
    const controller = new AbortController();
    const targets = world.agent.targets.map(
      (target): Target => ({
        ...target,
        settle: async () => {
          controller.abort();
          throw new Error('interrupted while it waited');
        },
      }),
    );
    const agent = { ...world.agent, targets, signal: controller.signal };
    await expect(importMedium(agent, medium)).rejects.toMatchObject({ code: 'ABORTED' });
    const [count, done] = [world.events().length, steps(world).length];
    expect(openOperation(world.agent.state)).toMatchObject({ phase: 'settle', rollingBack: false });
    await lookAround(world.agent);
    expect(steps(world)).toHaveLength(done);
    expect(told(world, count)).toEqual([['package', 'app', 'configured', undefined]]);
    expect(row(world, 'app')).toMatchObject({ status: 'healthy' });
  });

  it('stays broken when its last good version was revoked meanwhile', async () => {
    await using world = await createWorld();
    const one = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    await importMedium(world.agent, await world.medium({ release: { version: 1, bundle: one } }));
    const two = packTestBundle(world.fleet, [unhealthy('app', 'two')]);
    const release = { version: 2, bundle: two, revoked: [one.digest] };
    await importMedium(world.agent, await world.medium({ release }));
    expect(row(world, 'app')).toMatchObject({ status: 'broken', current: undefined });
    expect(live(world)).toEqual({ '/opt/app': 'two' });
  });
});

describe('a package that is removed from the bundle', () => {
  it('is removed after everything else was applied, even if another package failed', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('old', 'one')]);
    const result = await world.release(2, [unhealthy('app', 'two')]);
    expect(result.packages).toMatchObject([
      { assignment: 'app', outcome: 'failed' },
      { assignment: 'old', outcome: 'deleted' },
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(row(world, 'old')).toBeUndefined();
    expect(world.events().at(-1)).toMatchObject({ type: 'removed', outcome: 'deleted', assignment: 'old' });
  });

  it('stays when more packages are removed than the prune budget allows, until a confirmation', async () => {
    await using world = await createWorld();
    const three = ['a', 'b', 'c'].map((id) => onePackage(id, 'one'));
    await world.release(1, three);
    const bundle = packTestBundle(world.fleet, three.slice(0, 1));
    const medium = await world.medium({ release: { version: 2, bundle } });
    const held = await importMedium(world.agent, medium);
    expect(held.packages.map(({ outcome, code }) => [outcome, code])).toEqual([
      ['skipped', 'PRUNE_BUDGET'],
      ['skipped', 'PRUNE_BUDGET'],
    ]);
    expect(Object.keys(live(world))).toHaveLength(3);
    const message =
      '2 packages left the bundle, at most 1 are removed unasked (b, c); if it is meant: fleet-agent prune';
    expect(world.events().at(-1)).toMatchObject({ assignment: 'c', outcome: 'skipped', message });
    const { packages } = readStatus(world.agent, { registry: '', hub: '', windows: [] });
    expect(packages.slice(1)).toMatchObject([
      { assignment: 'b', status: 'skipped', message },
      { assignment: 'c', status: 'skipped', message },
    ]);
    const count = world.events().length;
    await lookAround(world.agent);
    expect(world.events()).toHaveLength(count);
    await importMedium(world.agent, medium, { prune: true });
    expect(live(world)).toEqual({ '/opt/a': 'one' });
  });

  it('is removed by a confirmation without a medium, for the current release only', async () => {
    await using world = await createWorld();
    expect(await confirmPrune(world.agent)).toEqual([]);
    const three = ['a', 'b', 'c'].map((id) => onePackage(id, 'one'));
    await world.release(1, three);
    await world.release(2, three.slice(0, 1));
    expect(Object.keys(live(world))).toHaveLength(3);
    const packages = await confirmPrune(world.agent);
    expect(packages.map(({ outcome }) => outcome)).toEqual(['deleted', 'deleted']);
    expect(live(world)).toEqual({ '/opt/a': 'one' });
    expect(world.events().find(({ type }) => type === 'operator')).toMatchObject({
      detail: { action: 'prune', operator: 'technician', packages: ['b', 'c'] },
    });
    const [last] = (await world.release(3, [])).packages;
    expect(last).toMatchObject({ code: 'PRUNE_BUDGET' });
  });

  it('(I7) keeps the files of an update that removes more than the budget, until a confirmation', async () => {
    await using world = await createWorld();
    const many = (count: number, content: string): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: count }, (_, i) => [`/opt/${i}`, content])),
    });
    const other = onePackage('other', 'one');
    await world.release(1, [many(51, 'one'), other]);
    const held = await world.release(2, [many(1, 'two'), { ...other, files: { '/opt/other': 'two' } }]);
    expect(held.packages).toMatchObject([
      { assignment: 'app', outcome: 'skipped', code: 'PRUNE_BUDGET' },
      { assignment: 'other', outcome: 'configured' },
    ]);
    expect(held.packages[0]?.message).toContain(
      'removes 50 objects of the package and creates 0; of 51 of its application 1 would be left',
    );
    expect(live(world)).toMatchObject({ '/opt/0': 'one', '/opt/50': 'one', '/opt/other': 'two' });
    expect(row(world, 'app')).toMatchObject({ status: 'skipped', code: 'PRUNE_BUDGET' });
    const count = world.events().length;
    expect((await lookAround(world.agent)).packages).toMatchObject([{ outcome: 'skipped' }]);
    expect((await retryPackages(world.agent, ['app']))[0]).toMatchObject({ code: 'PRUNE_BUDGET' });
    expect(told(world, count)).toEqual([['operator', 'app', undefined, undefined]]);

    expect(await confirmPrune(world.agent)).toEqual([{ assignment: 'app', outcome: 'configured' }]);
    expect(live(world)).toEqual({ '/opt/0': 'two', '/opt/other': 'two' });
    // Ten go unasked, if a tenth is left.
    await world.release(3, [many(12, 'three'), other]);
    expect((await world.release(4, [many(2, 'four'), other])).packages).toMatchObject([
      { assignment: 'app', outcome: 'configured' },
    ]);
  });

  it('keeps the files of a package whose update has none left, until a confirmation', async () => {
    await using world = await createWorld();
    const many = (count: number): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: count }, (_, i) => [`/opt/${i}`, 'one'])),
    });
    await world.release(1, [many(10), onePackage('other', 'one')]);
    const { packages } = await world.release(2, [many(0), onePackage('other', 'one')]);
    expect(packages[0]).toMatchObject({
      assignment: 'app',
      code: 'PRUNE_BUDGET',
      message: expect.stringContaining(
        'creates 0; none of its application is left; if it is meant',
      ) as string,
    });
    expect(Object.keys(live(world))).toHaveLength(11);
    await confirmPrune(world.agent);
    expect(live(world)).toEqual({ '/opt/other': 'one' });
  });

  it('keeps the files of a package whose update has less than a tenth left, even within the budget', async () => {
    await using world = await createWorld(undefined, { policy: { ...POLICY, pruneBudget: 5 } });
    const many = (count: number): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: count }, (_, i) => [`/opt/${i}`, 'one'])),
    });
    await world.release(1, [many(30), onePackage('other', 'one')]);
    const { packages } = await world.release(2, [many(1), onePackage('other', 'one')]);
    expect(packages[0]).toMatchObject({
      assignment: 'app',
      code: 'PRUNE_BUDGET',
      message:
        'the release removes 29 objects of the package and creates 0; of 30 of its application 1 would be left; if it is meant: fleet-agent prune',
    });
    expect(Object.keys(live(world))).toHaveLength(31);
    expect(await world.release(3, [many(3), onePackage('other', 'one')])).toMatchObject({
      packages: [{ assignment: 'app', outcome: 'configured' }],
    });
    expect(Object.keys(live(world))).toHaveLength(4);
  });

  it('counts its files and objects against the budget, not only the package', async () => {
    await using world = await createWorld();
    const app = (count: number): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: count }, (_, i) => [`/opt/${i}`, 'one'])),
    });
    await world.release(1, [app(11), onePackage('other', 'one')]);
    const { packages } = await world.release(2, [onePackage('other', 'one')]);
    expect(packages.at(-1)).toMatchObject({
      code: 'PRUNE_BUDGET',
      message:
        'the packages that left the bundle have 11 files and objects, at most 10 are removed unasked (app); if it is meant: fleet-agent prune',
    });
    expect(Object.keys(live(world))).toHaveLength(12);
    await confirmPrune(world.agent);
    expect(live(world)).toEqual({ '/opt/other': 'one' });
  });

  it('may replace any number of files, because generated names change with every release', async () => {
    await using world = await createWorld();
    const named = (release: string): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`/opt/${i}-${release}`, release])),
    });
    await world.release(1, [named('one')]);
    expect((await world.release(2, [named('two')])).packages).toMatchObject([{ outcome: 'configured' }]);
    expect(Object.values(live(world))).toEqual(Array.from({ length: 40 }, () => 'two'));
  });

  it('is kept without a confirmation when it is the last one', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    const bundle = packTestBundle(world.fleet, []);
    const medium = await world.medium({ release: { version: 2, bundle } });
    expect((await importMedium(world.agent, medium)).packages).toMatchObject([{ code: 'PRUNE_BUDGET' }]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    await importMedium(world.agent, medium, { prune: true });
    expect(live(world)).toEqual({});
  });

  it('passes its files on to the package it was renamed to', async () => {
    await using world = await createWorld();
    const files = { '/opt/app': 'one', '/opt/gone': 'x' };
    await world.release(1, [onePackage('old', '', { files }), onePackage('other', 'one')]);
    await world.release(2, [
      onePackage('new', '', { files: { '/opt/app': 'two' } }),
      onePackage('other', 'one'),
    ]);
    expect(live(world)).toEqual({ '/opt/app': 'two', '/opt/other': 'one' });
    expect(readOwned(world.agent.state, 'new').map(({ key }) => key)).toEqual(['file:/opt/app']);
  });

  it('gets its files back when the package it was renamed to fails', async () => {
    await using world = await createWorld();
    const files = { '/opt/app': 'one' };
    await world.release(1, [onePackage('old', '', { files })]);
    await world.release(2, [unhealthy('new', '', { files: { '/opt/app': 'two' } })]);
    expect(readOwned(world.agent.state, 'old').map(({ key }) => key)).toEqual(['file:/opt/app']);
    await lookAround(world.agent);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('keeps its files from other packages while it owns them', async () => {
    await using world = await createWorld();
    const claim = (id: string, path: string) => onePackage(id, '', { files: { [path]: id } });
    const result = await world.release(1, [claim('a', '/opt/x'), claim('b', '/opt/x')]);
    expect(result.packages).toMatchObject([
      { assignment: 'a', outcome: 'created' },
      { assignment: 'b', outcome: 'failed', code: 'PATH_CLAIMED' },
    ]);
    expect(live(world)).toEqual({ '/opt/x': 'a' });
  });

  it('passes a file on to another package in the same release, in any order', async () => {
    await using world = await createWorld();
    const moved = { '/opt/moved': 'x' };
    const plain = (id: string, content: string, more = {}) =>
      onePackage(id, '', { files: { [`/opt/${id}`]: content, ...more } });
    await world.release(1, [plain('a', 'one'), plain('b', 'one', moved)]);
    const result = await world.release(2, [plain('a', 'two', moved), plain('b', 'two')]);
    expect(result.packages).toMatchObject([
      { assignment: 'a', outcome: 'configured' },
      { assignment: 'b', outcome: 'configured' },
    ]);
    expect(live(world)).toEqual({ '/opt/a': 'two', '/opt/b': 'two', '/opt/moved': 'x' });
    await world.release(3, [plain('a', 'two'), plain('b', 'two', moved)]);
    expect(live(world)).toEqual({ '/opt/a': 'two', '/opt/b': 'two', '/opt/moved': 'x' });
  });

  it('is tried again at the next look after PATH_CLAIMED, with one event', async () => {
    await using world = await createWorld();
    const claim = (id: string) => onePackage(id, '', { files: { '/opt/x': id } });
    await world.release(1, [claim('a'), claim('b')]);
    const before = world.events().length;
    const { packages } = await lookAround(world.agent);
    expect(packages).toMatchObject([{ assignment: 'b', code: 'PATH_CLAIMED' }]);
    expect(packages[0]?.message).not.toContain('not tried again');
    expect(told(world, before)).toEqual([]);
  });
});

describe('a rollback by a person', () => {
  it('rolls back one package, keeps the floors, and is reported with operator and reason', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('other', 'one')]);
    await world.release(2, [onePackage('app', 'two'), onePackage('other', 'two')]);
    const count = world.events().length;
    const result = await rollBackPackage(world.agent, 'app', 'the screen is black');
    expect(result).toEqual({ assignment: 'app', outcome: 'configured' });
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/other': 'two' });
    expect(told(world, count).map(([type]) => type)).toEqual(['operator', 'rolled-back']);
    expect(world.events()[count]).toMatchObject({
      message: 'the screen is black',
      detail: { action: 'rollback', operator: 'technician' },
    });
    const said = 'rolled back by technician: the screen is black';
    expect(world.events()[count + 1]).toMatchObject({ type: 'rolled-back', message: said });
    const offline = { registry: '', hub: '', windows: [] };
    expect(readStatus(world.agent, offline).packages[0]).toMatchObject({ pinned: 2, pinnedReason: said });
    expect(row(world, 'app')).toMatchObject({ pinnedRelease: 2, status: 'healthy' });
    await lookAround(world.agent);
    expect(live(world)['/opt/app']).toBe('one');
  });

  it('ends at the next release', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await rollBackPackage(world.agent, 'app', 'why not');
    await world.release(3, [onePackage('app', 'two')]);
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    expect(row(world, 'app')?.pinnedRelease).toBeUndefined();
  });

  it('is undone by a person with an event: the package of the release runs again', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await expect(undoRollback(world.agent, 'app', 'x')).rejects.toMatchObject({
      code: 'NOTHING_TO_ROLL_BACK',
    });
    await rollBackPackage(world.agent, 'app', 'why not');
    const count = world.events().length;
    expect(await undoRollback(world.agent, 'app', 'it was the cable')).toEqual({
      assignment: 'app',
      outcome: 'configured',
    });
    expect(live(world)).toEqual({ '/opt/app': 'two' });
    expect(row(world, 'app')).toMatchObject({ pinnedRelease: undefined, status: 'healthy' });
    expect(world.events()[count]).toMatchObject({
      type: 'operator',
      message: 'it was the cable',
      detail: { action: 'undo-rollback', operator: 'technician' },
    });
    await expect(undoRollback(world.agent, 'nobody', 'x')).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('is refused without a previous version, or with a revoked one', async () => {
    await using world = await createWorld();
    const one = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    await importMedium(world.agent, await world.medium({ release: { version: 1, bundle: one } }));
    const refused = { code: 'NOTHING_TO_ROLL_BACK' };
    await expect(rollBackPackage(world.agent, 'app', 'x')).rejects.toMatchObject(refused);
    const two = packTestBundle(world.fleet, [onePackage('app', 'two')]);
    const release = { version: 2, bundle: two, revoked: [one.digest] };
    await importMedium(world.agent, await world.medium({ release }));
    await expect(rollBackPackage(world.agent, 'app', 'x')).rejects.toMatchObject(refused);
    await expect(rollBackPackage(world.agent, 'nobody', 'x')).rejects.toMatchObject({ code: 'USAGE' });
  });
});
