import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { confirmPrune } from '../../../agent/apply/operator/confirm-prune.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import type { TestPackage } from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, POLICY, type World } from '../world.ts';

const live = (world: World) => liveFiles(join(world.folder, 'machine'));
const row = (world: World, assignment: string) => findPackage(world.agent.state, assignment);

/** A package of a team: one workload with one target, both named like it. */
const of = (workspace: string, id: string, content: string, more: Partial<TestPackage> = {}): TestPackage =>
  onePackage(id, content, { workspace, workload: id, deploymentTarget: 'host', ...more });

/** An env file with a value that the site must have, and has not. */
const ASKS = (file: string): Partial<TestPackage> => ({
  files: { [file]: '' },
  inputs: [{ input: 'never-set', file, pointer: '/A' }],
});

const FAILS: Partial<TestPackage> = {
  checks: [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }],
};

const waits = (name: string) =>
  `its removal waits until the packages that need or replace it run as desired: ${name}; repair them, then run: fleet-agent retry`;

describe('the removal of a package', () => {
  it.each<[string, TestPackage]>([
    ['whose check fails', of('b', 'app', 'two', FAILS)],
    ['that cannot be written', of('b', 'app', 'refuse')],
    [
      'that claims a file of it',
      of('b', 'app', '', { ...FAILS, files: { '/opt/app': '2', '/opt/pay': 'b' } }),
    ],
    ['that needs a value that no site has', of('b', 'app', '', ASKS('/opt/app'))],
    ['that depended on it', of('b', 'app', 'two', FAILS)],
  ])('N70: of a withdrawn package does not wait for one of another team %s', async (_, broken) => {
    await using world = await createWorld(undefined, { policy: { ...POLICY, pruneBudget: 5 } });
    const before = of('b', 'app', 'one', { dependsOn: ['pay'] });
    await world.release(1, [of('a', 'pay', 'one'), before, of('c', 'other', 'one')]);
    const { packages } = await world.release(2, [broken, of('c', 'other', 'one')]);
    expect(packages).toContainEqual({ assignment: 'pay', outcome: 'deleted' });
    expect(packages.filter(({ assignment }) => assignment === 'app')).toMatchObject([{ outcome: 'failed' }]);
    expect(live(world)).toEqual({ '/opt/app': 'one', '/opt/other': 'one' });
  });

  it('does not wait for an unrelated package of its own team', async () => {
    await using world = await createWorld(undefined, { policy: { ...POLICY, pruneBudget: 5 } });
    await world.release(1, [of('a', 'pay', 'one'), of('a', 'app', 'one')]);
    await world.release(2, [of('a', 'app', 'two', FAILS)]);
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it.each<[string, TestPackage, TestPackage]>([
    [
      'takes its file over',
      of('a', 'app', 'one'),
      of('a', 'app', '', { ...FAILS, files: { '/opt/pay': '2' } }),
    ],
    ['depends on it as it runs', of('a', 'app', 'one', { dependsOn: ['pay'] }), of('a', 'app', 'two', FAILS)],
    [
      'comes in its place, of the same workload',
      of('c', 'other', 'one'),
      of('a', 'new', '1', { ...FAILS, workload: 'pay' }),
    ],
    ['comes in its place, its workload renamed', of('c', 'other', 'one'), of('a', 'new', '1', FAILS)],
    [
      'is of the platform and takes its file over',
      of('c', 'other', 'one'),
      onePackage('base', '', { ...FAILS, files: { '/opt/pay': '2' } }),
    ],
    ['is critical', of('c', 'other', 'one'), of('c', 'base', '1', { ...FAILS, critical: true })],
  ])('waits for the package that %s, and for no other', async (_, before, after) => {
    await using world = await createWorld(undefined, { policy: { ...POLICY, pruneBudget: 5 } });
    const rest = of('d', 'rest', 'one');
    await world.release(1, [of('a', 'pay', 'one'), before, rest]);
    await world.release(2, [after, rest, ...(before.id === after.id ? [] : [before])]);
    expect(row(world, 'pay')).toMatchObject({ status: 'skipped', message: waits(after.id) });
    expect(live(world)).toMatchObject({ '/opt/pay': 'one' });
    const mended = { ...after, checks: [] };
    await world.release(3, [mended, rest, ...(before.id === after.id ? [] : [before])]);
    expect(row(world, 'pay')).toBeUndefined();
    expect(live(world)['/opt/pay']).toBe(after.files['/opt/pay']);
  });

  it('of a dependency waits for its dependent, whose removal waits', async () => {
    await using world = await createWorld(undefined, { policy: { ...POLICY, pruneBudget: 5 } });
    const rest = of('c', 'rest', 'one');
    const pay = of('a', 'pay', 'one', { dependsOn: ['base'] });
    await world.release(1, [pay, of('a', 'base', 'one'), of('b', 'lib', 'one'), rest]);
    await world.release(2, [of('a', 'new', '1', { ...FAILS, workload: 'pay' }), rest]);
    expect(row(world, 'pay')).toMatchObject({ message: waits('new') });
    expect(row(world, 'base')).toMatchObject({ message: waits('pay') });
    expect(row(world, 'lib')).toBeUndefined();
  });
});

describe('the prune budget of a team', () => {
  const policy = { ...POLICY, pruneBudget: 2 };
  const removedBy = (team: string, count: number) =>
    Array.from({ length: count }, (_, index) => of(team, `${team}-${index}`, 'one'));

  it("is not used up by another team's removals, and is used once", async () => {
    await using world = await createWorld(undefined, { policy });
    const rest = of('z', 'rest', 'one');
    await world.release(1, [...removedBy('a', 3), ...removedBy('b', 1), rest]);
    const { packages } = await world.release(2, [rest]);
    expect(packages).toContainEqual({ assignment: 'b-0', outcome: 'deleted' });
    const left = { '/opt/a-0': 'one', '/opt/a-1': 'one', '/opt/a-2': 'one', '/opt/rest': 'one' };
    expect(live(world)).toEqual(left);
    expect(row(world, 'a-0')).toMatchObject({ status: 'skipped', code: 'PRUNE_BUDGET' });
    await lookAround(world.agent);
    expect(live(world)).toEqual(left);
    await confirmPrune(world.agent);
    expect(live(world)).toEqual({ '/opt/rest': 'one' });
  });

  it('is not used again by later looks, nor by the next release', async () => {
    await using world = await createWorld(undefined, { policy });
    const rest = of('z', 'rest', 'one');
    const teams = ['a', 'b', 'c', 'd'].flatMap((team) => removedBy(team, 1));
    await world.release(1, [...teams, rest]);
    await world.release(2, [rest]);
    const left = { '/opt/c-0': 'one', '/opt/d-0': 'one', '/opt/rest': 'one' };
    expect(live(world)).toEqual(left);
    await lookAround(world.agent);
    expect(live(world)).toEqual(left);
    await world.release(3, [of('z', 'rest', 'two')]);
    expect(live(world)).toEqual({ ...left, '/opt/rest': 'two' });
  });
});
