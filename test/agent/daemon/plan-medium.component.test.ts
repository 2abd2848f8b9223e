import { writeFileSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shown } from '../../harness/run/shown.ts';
import { hexOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { planMedium } from '../../../agent/daemon/plan-medium.ts';
import { scratchState } from '../../../agent/store/state.ts';
import { holdSite } from '../../../agent/apply/operator/hold-site.ts';
import { showPlan } from '../../../agent/commands/show-plan.ts';
import { rollBackPackage } from '../../../agent/apply/operator/roll-back-package.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { memoryProvider } from '../images/memory-provider.ts';
import { four, makeSet } from '../set-world.ts';
import { planQuietly } from '../plan-quietly.ts';
import { createWorld, NOW, onePackage, SITE, testAgent, type World } from '../world.ts';

const mediumOf = (world: World, version: number, packages: readonly TestPackage[]): Promise<string> =>
  world.medium({ release: { version, bundle: packTestBundle(world.fleet, packages) } });

const plan = (world: World, ...paths: readonly string[]) =>
  planQuietly(world.agent, join(world.folder, 'machine'), paths);

describe('the plan of an import', () => {
  it('lists the packages and outcomes of the import that follows', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('old', 'one'), onePackage('same', 'one')]);
    const medium = await mediumOf(world, 2, [
      onePackage('app', 'two'),
      onePackage('new', 'two'),
      onePackage('same', 'one'),
    ]);
    const planned = await plan(world, medium);
    expect(planned).toMatchObject({ release: { version: 2 }, news: 'newer', isNew: true });
    const { packages } = await importMedium(world.agent, medium);
    expect(
      planned.next.map(({ assignment, changes }) => ({ assignment, outcome: changes[0]?.outcome })),
    ).toEqual(expect.arrayContaining(packages.map(({ assignment, outcome }) => ({ assignment, outcome }))));
    expect(planned.next).toHaveLength(packages.length);
    const text = shown(showPlan(planned)).join('\n');
    expect(text).toContain('The import would accept release 2 of prod/factory-host.');
    expect(text).toMatch(/^app +configured +file:\/opt\/app/mu);
    expect(text).toMatch(/^old +deleted +file:\/opt\/old/mu);
  });

  it('hands no proof of images to the loaders of nodes, as the import does', async () => {
    await using world = await createWorld();
    let proofs = 0;
    const prove = async (): Promise<void> => {
      proofs += 1;
    };
    const agent = { ...world.agent, images: [{ ...memoryProvider(), prove }] };
    const medium = await mediumOf(world, 1, [onePackage('app', 'one')]);
    await planQuietly(agent, join(world.folder, 'machine'), [medium]);
    expect(proofs).toBe(0);
    await importMedium(agent, medium);
    expect(proofs).toBe(1);
  });

  it('states that a medium has nothing new, and that changes wait for the end of a hold', async () => {
    await using world = await createWorld();
    const medium = await mediumOf(world, 1, [onePackage('app', 'one')]);
    await importMedium(world.agent, medium);
    const again = await plan(world, medium);
    expect(again).toMatchObject({ isNew: false, next: [] });
    expect(shown(showPlan(again)).join('\n')).toContain(
      'Nothing is new on this medium: release 1 of prod/factory-host, imported before.\nNo package would change.',
    );
    await holdSite(world.agent, undefined, 'batch 17');
    const second = await mediumOf(world, 2, [onePackage('app', 'two')]);
    const held = await plan(world, second);
    expect(shown(showPlan(held)).join('\n')).toMatch(
      /These changes wait: held by technician: batch 17; .*fleet-agent release/u,
    );
    await importMedium(world.agent, second);
    const waits = await plan(world, second);
    expect(waits).toMatchObject({ isNew: false, next: [{ assignment: 'app' }] });
  });

  it('names the channel of a medium that has no release for this machine', async () => {
    await using world = await createWorld();
    const follows = { environment: 'prod', clusterType: 'factory-hots' };
    const agents = [{ name: 'kiosk-1', key: world.agent.identity.key, channel: follows }];
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({
      site: { site: SITE, version: 1, agents },
      release: { version: 1, bundle },
    });
    expect(shown(showPlan(await plan(world, medium))).join('\n')).toMatch(
      /follows prod\/factory-hots, and the medium has no release of it: it has prod\/factory-host/u,
    );
  });

  it('lists removals that would need a confirmation, and none with --prune', async () => {
    await using world = await createWorld();
    const names = ['a', 'b', 'c', 'd'];
    await world.release(
      1,
      names.map((name) => onePackage(name, 'one')),
    );
    const medium = await mediumOf(world, 2, [onePackage('a', 'one')]);
    const waits = await plan(world, medium);
    expect(waits.next.map((one) => one.waits?.code)).toEqual(Array(3).fill('PRUNE_BUDGET'));
    expect(shown(showPlan(waits)).join('\n')).toMatch(/^b +waits +PRUNE_BUDGET: .*fleet-agent prune/mu);
    const { packages } = await importMedium(world.agent, medium);
    expect(packages.map(({ code }) => code)).toEqual(Array(3).fill('PRUNE_BUDGET'));
    const machine = join(world.folder, 'machine');
    const meant = await planQuietly(world.agent, machine, [medium], { prune: true });
    expect(meant.next.map((one) => one.waits)).toEqual([undefined, undefined, undefined]);
  });

  it('waits with the code that the import gives to an update with too many removals', async () => {
    await using world = await createWorld();
    const files = (count: number): TestPackage => ({
      id: 'app',
      files: Object.fromEntries(Array.from({ length: count }, (_, at) => [`/opt/app/${at}`, 'x'])),
    });
    await world.release(1, [files(40)]);
    const medium = await mediumOf(world, 2, [files(3)]);
    const [planned] = (await plan(world, medium)).next;
    const { packages } = await importMedium(world.agent, medium);
    expect(planned?.waits).toEqual({ code: packages[0]?.code, message: packages[0]?.message });
  });

  it('waits with the code that the import gives to a package that failed before', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'refuse')]);
    const medium = await mediumOf(world, 3, [onePackage('app', 'refuse'), onePackage('b', 'one')]);
    const planned = await plan(world, medium);
    const { packages } = await importMedium(world.agent, medium);
    const app = packages.find(({ assignment }) => assignment === 'app');
    expect(planned.next.find(({ assignment }) => assignment === 'app')?.waits).toEqual({
      code: app?.code,
      message: app?.message,
    });
  });

  it('counts what an operator rolled back as changed by a newer release', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one')]);
    await world.release(2, [onePackage('app', 'two')]);
    await rollBackPackage(world.agent, 'app', 'leaks');
    const planned = await plan(world, await mediumOf(world, 3, [onePackage('app', 'two')]));
    expect(planned.next).toMatchObject([{ assignment: 'app', changes: [{ outcome: 'configured' }] }]);
  });

  it('of a delta reads the base from the store, and writes no list of what is missing', async () => {
    await using world = await createWorld();
    await world.release(1, [onePackage('app', 'one'), onePackage('base', 'one')]);
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'two'), onePackage('base', 'one')]);
    const assumed = [...bundle.layers].flatMap(([name, { digest }]) => (name === 'base' ? [digest] : []));
    const medium = await world.medium({ release: { version: 2, bundle }, assumed });
    expect((await plan(world, medium)).next).toMatchObject([{ assignment: 'app' }]);
    const { blobs } = world.agent.state;
    for (const digest of assumed) await writeFile(blobs.path(digest), 'damaged');
    await expect(plan(world, medium)).rejects.toMatchObject({ code: 'MISSING_BASE' });
    expect(await readdir(join(medium, 'fleet'))).not.toContain('requests');
    const whole = await world.medium({ release: { version: 2, bundle } });
    expect((await plan(world, whole)).next).toMatchObject([{ assignment: 'app' }]);
  });

  it('needs all media of a set, here or imported before', async () => {
    await using world = await createWorld();
    const { stick, set } = await makeSet(world, four(world));
    const sticks = await Promise.all(set.numbers.map((number) => stick(number)));
    const [first = '', ...others] = sticks;
    await expect(plan(world, first)).rejects.toMatchObject({
      code: 'PARTS_MISSING',
      hint: expect.stringContaining('Name all of them'),
    });
    expect((await plan(world, ...sticks)).next).toHaveLength(4);
    for (const path of others.slice(0, -1))
      await expect(importMedium(world.agent, path)).rejects.toMatchObject({ code: 'PARTS_MISSING' });
    expect((await plan(world, first, others.at(-1) ?? '')).next).toHaveLength(4);
  });

  it('with --accept-expired needs the same permission as the import', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const expires = addDays(NOW, -1);
    const medium = await world.medium({ release: { version: 1, bundle, expires } });
    const machine = join(world.folder, 'machine');
    const wish = { acceptExpired: 'line stands still' };
    await expect(planQuietly(world.agent, machine, [medium], wish)).rejects.toMatchObject({ code: 'USAGE' });
    const { policy, state } = world.agent;
    const open = testAgent(state, world.folder, { policy: { ...policy, breakGlass: true } });
    const planned = await planQuietly(open, machine, [medium], wish);
    expect(planned).toMatchObject({ relaxed: ['release'], next: [{ assignment: 'app' }] });
  });

  it('refuses a layer whose bytes changed after the first read', async () => {
    await using world = await createWorld();
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const medium = await world.medium({ release: { version: 1, bundle } });
    const layer = bundle.layers.get('app');
    if (!layer) throw new Error('no layer');
    const onJournal = (point: string) => {
      if (point !== 'accepted') return;
      // Between the check of the medium and the plan somebody changes it.
      writeFileSync(join(medium, 'blobs/sha256', hexOf(layer.digest)), Buffer.alloc(layer.size));
    };
    using state = scratchState(world.agent.state);
    const { next } = await planMedium({ ...world.agent, onJournal, state }, [medium]);
    expect(next).toMatchObject([{ assignment: 'app', changes: [], error: { code: 'DIGEST_MISMATCH' } }]);
  });
});
