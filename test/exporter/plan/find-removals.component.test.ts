import { writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { describeRemovals } from '../../../exporter/plan/find-removals.ts';
import { writeReport } from '../../harness/fleets/signed-layout.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';

/** Release 2 has two more packages than release 1, and release 3 has one of them no more. */
const makeThree = async () => {
  const world = await makeKioskWorld();
  const release = async (version: number, ...names: readonly string[]) => {
    const one = bundleOf(`release ${version}`);
    const extra = Object.fromEntries(names.map((name) => [name, { 'app.yaml': `name: ${name}\n` }]));
    const packages = { ...one.packages, ...extra };
    // As a build does: one can go back to every release.
    await world.layout.keep(KIOSK);
    const [digest] = await world.layout.release({ channel: KIOSK, version, bundles: [{ ...one, packages }] });
    if (digest === undefined) throw new Error('no bundle');
    return digest;
  };
  const second = await release(2, 'label', 'scale');
  return { world, second, third: () => release(3, 'scale'), fourth: () => release(4) };
};

const removalsOf = async (world: World, order: Parameters<World['plan']>[0] = {}) =>
  (await world.plan(order)).removals.map(describeRemovals);

it('findRemovals compares with the previous release when nothing is known of the readers', async () => {
  const { world, third } = await makeThree();
  await using _world = world;
  expect(await removalsOf(world)).toEqual([]);
  await third();
  expect(await removalsOf(world)).toEqual([
    'prod/kiosk release 3 removes label, which release 2 of prod/kiosk has',
  ]);
});

it('findRemovals compares with the former content of the medium that is filled again', async () => {
  const { world, third, fourth } = await makeThree();
  await using _world = world;
  await world.export('medium');
  await third();
  await fourth();
  expect(await removalsOf(world)).toEqual([
    `prod/kiosk release 4 removes label, scale, which ${world.path('medium')} has`,
  ]);
});

it('findRemovals compares with a release or an earlier medium named by --for', async () => {
  const { world, third, fourth } = await makeThree();
  await using _world = world;
  await world.export('earlier');
  await third();
  await fourth();
  expect(await removalsOf(world, { bases: ['release:prod/kiosk@3', world.path('earlier')] })).toEqual([
    'prod/kiosk release 4 removes scale, which release 3 of prod/kiosk has',
    `prod/kiosk release 4 removes label, scale, which ${world.path('earlier')} has`,
  ]);
});

it.each([
  ['the one bundle that it has', false],
  ['the release that it holds itself to, where it keeps more than one bundle', true],
])('findRemovals compares with the report of an agent: %s', async (_, keepsBoth) => {
  const { world, second, third, fourth } = await makeThree();
  await using _world = world;
  const three = await third();
  await fourth();
  const holds = keepsBoth ? [three, second] : [second];
  const floors = { root: 1, site: 1, release: keepsBoth ? 3 : 2, lease: 0, time: '2026-11-21T08:00:00Z' };
  const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, holds, { floors });
  await writeFile(world.path('report.json'), statement);
  expect(await removalsOf(world, { bases: [world.path('report.json')] })).toEqual([
    `prod/kiosk release 4 removes ${keepsBoth ? 'scale' : 'label, scale'}, which plant-7/line-1 has`,
  ]);
});

it('findRemovals returns nothing for a release that the source no longer has', async () => {
  const { world, second } = await makeThree();
  await using _world = world;
  const floors = { root: 1, site: 1, release: 9, lease: 0, time: '2026-11-21T08:00:00Z' };
  const holds = [second, world.first];
  const { statement } = await writeReport('acme', 'plant-7/line-1', world.agent, holds, { floors });
  await writeFile(world.path('report.json'), statement);
  await world.layout.release({ channel: KIOSK, version: 10, bundles: [bundleOf('release 10')] });
  expect(await removalsOf(world, { bases: [world.path('report.json')] })).toEqual([]);
});
