import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import {
  type Pruned,
  type PruneRequest,
  pruneRegistry,
} from '../../../../exporter/push/prune/prune-registry.ts';
import { pushMedium } from '../../../../exporter/push/push-medium.ts';
import {
  checkReachable,
  type MemoryRegistry,
  memoryRegistry,
} from '../../../bundles/transport/publish/memory-destination.ts';
import { NOW } from '../../../harness/fleets/signed-fleet.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../../world.ts';

let world: World;
let registry: MemoryRegistry;
const signal = new AbortController().signal;

/** Four releases of kiosk, of which the registry never saw the second, and gate with the image of the first. */
beforeAll(async () => {
  world = await makeKioskWorld();
  await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('one')] });
  await world.export('1');
  for (const version of [2, 3, 4]) {
    await world.layout.release({ channel: KIOSK, version, bundles: [bundleOf(String(version))] });
    await world.export(String(version), { channels: [KIOSK] });
  }
});
afterAll(() => world[Symbol.asyncDispose]());

beforeEach(async () => {
  registry = memoryRegistry();
  for (const name of ['1', '3', '4']) {
    await using medium = await openMedium(world.path(name));
    const order = { selection: {}, pinned: undefined, goBack: false, repair: false, dryRun: false };
    await pushMedium(medium, registry, { ...order, now: NOW, signal });
  }
});

const prune = (order: Partial<PruneRequest>): Promise<Pruned> =>
  pruneRegistry(registry, {
    keep: 1,
    channels: undefined,
    pinned: undefined,
    remove: true,
    signal,
    ...order,
  });
const countOf = (path: string, kind: string): number =>
  [...registry.tags.keys()].filter((tag) => tag.startsWith(`${path}:${kind}-`)).length;

test('prune keeps the releases with the highest numbers and everything that they need', async () => {
  expect([countOf('prod/kiosk', 'r'), countOf('registry.test/web', 'i')]).toEqual([3, 3]);
  await prune({ keep: 2 });
  expect([countOf('prod/kiosk', 'r'), countOf('prod/kiosk', 'b'), countOf('prod/kiosk', 'i')]).toEqual([
    2, 2, 2,
  ]);
  // That of release 1 is gate's too.
  expect(countOf('registry.test/web', 'i')).toBe(3);
  await prune({ keep: 1 });
  expect([countOf('prod/kiosk', 'r'), countOf('prod/gate', 'r'), countOf('registry.test/web', 'i')]).toEqual([
    1, 1, 2,
  ]);
  for (const path of ['prod/kiosk', 'prod/gate', 'registry.test/web']) checkReachable(registry, path);
  expect((await prune({ keep: 1 })).repositories.every(({ tags }) => tags.length === 0)).toBe(true);
});

test('prune without --yes removes nothing and lists what it would remove', async () => {
  const before = new Map(registry.tags);
  const { repositories } = await prune({ remove: false });
  expect(registry.tags).toEqual(before);
  expect(repositories.map(({ repository, outcome }) => `${repository} ${outcome}`)).toEqual([
    'registry.test/web planned',
    'prod/gate planned',
    'prod/kiosk planned',
  ]);
});

test('prune leaves foreign tags, pointers and other channels unchanged', async () => {
  const [, image] = [...registry.tags].find(([tag]) => tag.startsWith('registry.test/web:i-')) ?? [];
  if (!image) throw new Error('there is no image');
  const theirs = ['registry.test/web:latest', 'prod/kiosk:theirs', `elsewhere/app:i-${'0'.repeat(64)}`];
  for (const tag of theirs) registry.tags.set(tag, image);
  await prune({ channels: [KIOSK] });
  for (const tag of [...theirs, 'prod/kiosk:release', 'prod/kiosk:bundle', 'prod/gate:release'])
    expect(registry.tags.has(tag)).toBe(true);
});

test('prune keeps images under their own names when the registry has no catalog', async () => {
  const quiet = { ...registry, repositories: async () => undefined };
  const order = { keep: 1, pinned: undefined, remove: true, signal };
  const error = await pruneRegistry(quiet, { ...order, channels: undefined }).catch((it: unknown) => it);
  expect(isFleetError(error, 'USAGE')).toBe(true);
  const { notes } = await pruneRegistry(quiet, { ...order, channels: [KIOSK] });
  expect(notes).toHaveLength(1);
  expect([countOf('prod/kiosk', 'r'), countOf('registry.test/web', 'i')]).toEqual([1, 3]);
});

test('prune removes nothing of a channel whose pointer changes meanwhile', async () => {
  const now = registry.tags.get('prod/kiosk:release');
  const [, older] =
    [...registry.tags].find(([tag, it]) => tag.startsWith('prod/kiosk:r-') && it !== now) ?? [];
  if (!older) throw new Error('there is no older release');
  let asked = 0;
  registry.before = (request) => {
    // Once to find the channel, once to plan; then before anything is removed.
    if (request === 'HEAD prod/kiosk:release' && ++asked === 3)
      registry.tags.set('prod/kiosk:release', older);
  };
  const before = registry.tags.size;
  const { repositories } = await prune({});
  expect(repositories.map(({ outcome }) => outcome)).toEqual(['moved', 'moved', 'moved']);
  expect(registry.tags.size).toBe(before);
});

test('prune that was stopped at any point ends with the same tags when it is repeated', async () => {
  const start = new Map(registry.tags);
  await prune({});
  const whole = new Map(registry.tags);
  const count = registry.requests.filter((request) => request.startsWith('DELETE')).length;
  for (let stop = 0; stop < count; stop += 4) {
    registry.tags.clear();
    for (const [tag, digest] of start) registry.tags.set(tag, digest);
    let left = stop;
    registry.before = (request) => {
      if (request.startsWith('DELETE') && left-- === 0) throw new Error('cut');
    };
    await prune({}).catch(() => {});
    registry.before = () => {};
    checkReachable(registry, 'prod/kiosk');
    await prune({});
    expect(registry.tags).toEqual(whole);
  }
});
