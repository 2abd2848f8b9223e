import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { openDestination } from '../../../scheduler/deliver/send/open-destination.ts';
import { digestsOf } from '../../exporter/files-of.ts';
import { agentDiary } from '../../exporter/reports/agent-diary.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../../exporter/world.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type Outcome, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runExporter } from '../../harness/run/run-exporter.ts';
import { nodeInWine } from '../../harness/wine/in-wine.ts';

const REPOSITORY = resolve(import.meta.dirname, '../../..');
const PROGRAM = 'Z:\\mnt\\programs\\exporter\\fleet-export.mjs';

const PARTS = ['wine', 'factoryBase13', 'dockerRegistry'] as const;
describeWith(PARTS, 'fleet-export on Windows', ({ wine, factoryBase13, dockerRegistry }) => {
  let world: World;
  let registry: Registry;
  let root: string;

  beforeAll(async () => {
    world = await makeKioskWorld();
    root = hexOf(digestOf(world.fleet.roots[0] ?? ''));
    const env = { ...process.env, FLEET_ADDON: 'win32-x64', FLEET_BUNDLE_OUT: world.path('programs') };
    await runOrFail(
      [process.execPath, join(REPOSITORY, 'node_modules/.bin/rolldown'), '-c', 'rolldown.programs.config.ts'],
      { cwd: REPOSITORY, env },
    );
    registry = await startRegistry(dockerRegistry);
    await publish();
  }, 600_000);
  afterAll(async () => {
    await registry?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  const publish = async (): Promise<void> => {
    const options = { plainHttp: [], env: {} };
    await using destination = await openDestination(`oci://${registry.host}/fleet`, options, NOW);
    const { signal } = new AbortController();
    const layout = await openLayout(world.path('layout'));
    await publishLayout(layout, destination, { selection: {}, now: NOW, signal });
  };
  const at = ['--now', NOW.toISOString()];
  const onWindows = (...commands: readonly (readonly string[])[]): Promise<readonly Outcome[]> =>
    nodeInWine(
      { base: factoryBase13, layer: wine },
      world.path(),
      commands.map((words) => [PROGRAM, ...words, ...at]),
    );
  /** The same words are run on Linux, in the same places; names of media end with the system. */
  const onBoth = async (...commands: readonly (readonly string[])[]): Promise<void> => {
    for (const words of commands)
      succeed(await runExporter(world.path(), [...words.map((word) => word.replace('%', 'linux')), ...at]));
    const windows = commands.map((words) =>
      words.map((word) => (/^(?:layout|.*%)/.test(word) ? `Z:\\mnt\\${word.replace('%', 'windows')}` : word)),
    );
    for (const outcome of await onWindows(...windows)) succeed(outcome);
  };
  const same = (name: string): void => {
    const [linux, windows] = ['linux', 'windows'].map((system) =>
      digestsOf(world.path(name.replace('%', system))),
    );
    expect(windows).toEqual(linux);
    expect(windows?.size).toBeGreaterThan(0);
  };

  it('writes what Linux writes: a folder, a tar, a set, from a layout and a registry, over what was there', async () => {
    const from = ['--from', 'layout', '--site', 'plant-7'];
    const all = [
      ['create', ...from, '--to', 'folder-%'],
      ['create', ...from, '--to', 'tars-%/medium.tar'],
      ['create', ...from, '--to', 'set-%', '--part-size', '40000'],
      ['create', '--from', `oci://${registry.host}/fleet`, '--site', 'plant-7', '--to', 'fetched-%'],
    ];
    const names = ['folder-%', 'tars-%', 'set-%', 'fetched-%'];
    await onBoth(
      ...all,
      ['verify', 'folder-%', '--root-sha256', root],
      ['verify', 'set-%', '--root-sha256', root],
    );
    for (const name of names) same(name);
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await publish();
    await onBoth(
      ...all,
      ['verify', 'folder-%', '--root-sha256', root],
      ['verify', 'set-%', '--root-sha256', root],
    );
    for (const name of names) same(name);
    // A set takes the place of a folder, and the other way round; blobs of no use go.
    for (const system of ['linux', 'windows']) {
      await cp(world.path(`folder-${system}`), world.path(`turned-${system}`), { recursive: true });
      await cp(world.path(`set-${system}`), world.path(`back-${system}`), { recursive: true });
      const stray = Buffer.from('nobody names it');
      await writeFile(world.path(`folder-${system}/blobs/sha256/${hexOf(digestOf(stray))}`), stray);
    }
    await onBoth(
      ['create', ...from, '--to', 'turned-%', '--part-size', '40000'],
      ['create', ...from, '--to', 'back-%'],
      ['create', ...from, '--to', 'folder-%'],
    );
    for (const name of ['turned-%', 'back-%', 'folder-%']) same(name);
    expect(digestsOf(world.path('turned-windows'))).toEqual(digestsOf(world.path('set-windows')));
    expect(digestsOf(world.path('back-windows'))).toEqual(digestsOf(world.path('folder-windows')));
  }, 1_200_000);

  it('lists and copies the reports that come home', async () => {
    await world.export('home-linux', { sites: ['plant-7'] });
    await agentDiary('plant-7/line-1', world.agent, 9).report(world.path('home-linux'), 1, 9);
    await cp(world.path('home-linux'), world.path('home-windows'), { recursive: true });
    await onBoth(['reports', 'home-%', '--root-sha256', root, '--to', 'copied-%']);
    expect(digestsOf(world.path('copied-linux')).size).toBe(2);
    expect(digestsOf(world.path('copied-windows'))).toEqual(digestsOf(world.path('copied-linux')));
  }, 600_000);

  it('writes below a path of more than 260 characters', async () => {
    const deep = ['a', 'b', 'c', 'd', 'e'].map((name) => name.repeat(60));
    await mkdir(world.path(...deep), { recursive: true });
    await world.export('short', { sites: ['plant-7'] });
    const to = ['Z:\\mnt', ...deep, 'stick'].join('\\');
    for (const outcome of await onWindows([
      'create',
      '--from',
      'Z:\\mnt\\layout',
      '--site',
      'plant-7',
      '--to',
      to,
    ]))
      succeed(outcome);
    expect(digestsOf(world.path(...deep, 'stick'))).toEqual(digestsOf(world.path('short')));
  }, 600_000);
});
