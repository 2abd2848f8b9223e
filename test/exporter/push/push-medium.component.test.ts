import type { TransferCounts } from '#bundles/transport/publish/send-batch';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type FleetError, isFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { type PushRequest } from '../../../exporter/push/prepare-push.ts';
import { type Pushed, pushMedium } from '../../../exporter/push/push-medium.ts';
import {
  checkReachable,
  type MemoryRegistry,
  memoryRegistry,
} from '../../bundles/transport/publish/memory-destination.ts';
import { NOW, newFleet } from '../../harness/fleets/signed-fleet.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { fillForm } from '../write/fill-form.ts';
import { LONG } from '../../harness/run/long.ts';

let world: World & { readonly first: string };
let registry: MemoryRegistry;

/** Media of release 1 (with the site statement, and without), of release 2, and of what is new in it; and of gate alone. */
beforeAll(async () => {
  world = await makeKioskWorld();
  await world.export('medium', { sites: ['plant-7'] });
  await world.export('base');
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
  await world.export('new');
  await world.export('delta', { bases: [world.path('base')] });
  await world.layout.release({ channel: GATE, version: 1, bundles: [bundleOf('gate', 'host')] });
  await world.export('both');
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(() => {
  registry = memoryRegistry();
});

const push = async (
  name: string,
  order: Partial<PushRequest & { readonly dryRun: boolean }> = {},
): Promise<Pushed> => {
  await using medium = await openMedium(world.path(name));
  return await pushMedium(medium, registry, {
    selection: {},
    pinned: undefined,
    goBack: false,
    repair: false,
    dryRun: false,
    now: NOW,
    signal: new AbortController().signal,
    ...order,
  });
};

const refused = async (promise: Promise<unknown>): Promise<FleetError> => {
  try {
    await promise;
  } catch (error) {
    if (isFleetError(error)) return error;
    throw error;
  }
  throw new Error('it was not refused');
};

const tagsNow = (): readonly string[] => [...registry.tags].map((it) => it.join(' ')).toSorted();

test('push creates the tags that publishing creates, and images under their own names', async () => {
  const pushed = await push('medium');
  expect(pushed.pointers.map(({ repository, tag, outcome }) => `${repository}:${tag} ${outcome}`)).toEqual([
    'prod/kiosk:release sent',
    'sites/plant-7:site sent',
  ]);
  const tags = [...registry.tags.keys()].map((tag) => tag.replace(/-[0-9a-f]{64}$/, '-*')).toSorted();
  expect(tags).toEqual([
    'prod/kiosk:b-*',
    'prod/kiosk:bundle',
    'prod/kiosk:i-*',
    'prod/kiosk:r-*',
    'prod/kiosk:release',
    'prod/kiosk:s-*',
    'prod/kiosk:sha256-*',
    'registry.test/web:i-*',
    'sites/plant-7:r-*',
    'sites/plant-7:site',
  ]);
  for (const path of ['prod/kiosk', 'registry.test/web', 'sites/plant-7']) checkReachable(registry, path);
  const [name = '', reference] =
    Object.entries(pushed.references).find(([key]) => key.startsWith('registry.test/')) ?? [];
  const digest = name.split('@')[1] ?? '';
  expect(reference).toBe(`memory.test/fleet/registry.test/web:i-${digest.slice(7)}@${digest}`);
});

test('push writes pointers last, and images before any pointer', async () => {
  await push('medium');
  const puts = registry.requests.filter((request) => request.startsWith('PUT'));
  const at = (text: string): number => puts.findIndex((request) => request.startsWith(`PUT ${text}`));
  expect(at('registry.test/web:i-')).toBeLessThan(at('prod/kiosk:bundle'));
  expect(puts.slice(at('prod/kiosk:release') + 1).filter((it) => it.includes('prod/kiosk'))).toEqual([]);
});

test('push of an unchanged medium costs one request for each pointer', async () => {
  await push('medium');
  registry.requests.length = 0;
  const again = await push('medium');
  expect(again.pointers.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
  expect(registry.requests.toSorted()).toEqual(['HEAD prod/kiosk:release', 'HEAD sites/plant-7:site']);
});

test('push uploads a blob of two repositories once and mounts it in the other', async () => {
  const { images, pointers } = await push('medium');
  expect(images.freight.uploaded).toBe(3);
  expect(pointers[0]?.freight.mounted).toBe(3);
});

test('push resumes after a stop at any request, and writes the same bytes', async () => {
  await push('medium');
  const whole = tagsNow();
  const count = registry.requests.length;
  for (let stop = 1; stop < count; stop += LONG ? 1 : 31) {
    registry = memoryRegistry();
    let left = stop;
    registry.before = () => {
      if (left-- === 0) throw new Error('cut');
    };
    await push('medium').catch(() => {});
    if (registry.tags.has('prod/kiosk:release')) checkReachable(registry, 'prod/kiosk');
    registry.before = () => {};
    await push('medium');
    expect(tagsNow()).toEqual(whole);
  }
});

test('push refuses an older medium before it writes anything, and writes it with --go-back', async () => {
  await push('new');
  const before = new Map(registry.tags);
  const error = await refused(push('base'));
  expect(error).toMatchObject({
    code: 'ROLLBACK',
    message: 'memory.test/fleet/prod/kiosk:release is release 2 already, here is release 1',
  });
  expect(error.hint).toContain('--go-back');
  expect(registry.tags).toEqual(before);
  const { pointers } = await push('base', { goBack: true });
  expect(pointers[0]).toMatchObject({ outcome: 'sent', wentBack: true, name: 'release 1' });
});

test('push never overwrites the registry of another fleet', async () => {
  await push('medium');
  const other = await makeKioskWorld(await newFleet());
  onTestFinished(() => other[Symbol.asyncDispose]());
  await other.export('medium');
  const mine = world;
  world = other;
  const error = await refused(push('medium'));
  world = mine;
  expect(error.code).toMatch(/^(ROOT_|EQUIVOCATION|SIGNATURE|WRONG)/);
});

test('push accepts only a medium with the given root', async () => {
  const right = digestOf(world.fleet.roots[0] ?? '');
  expect((await push('medium', { pinned: right, dryRun: true })).anchored).toBe(true);
  expect((await refused(push('medium', { pinned: digestOf('other') }))).code).toBe('ROOT_UNKNOWN');
  expect(registry.tags.size).toBe(0);
});

test('push refuses an expired release', async () => {
  const now = new Date(NOW.getTime() + 200 * 86_400_000);
  expect((await refused(push('medium', { now }))).code).toBe('EXPIRED');
  expect(registry.tags.size).toBe(0);
});

test('push of a delta uses the base that another repository of the registry has', async () => {
  await push('base');
  const { images } = await push('delta');
  checkReachable(registry, 'prod/kiosk');
  checkReachable(registry, 'registry.test/web');
  // The big layer is there; the small layer and the config are new.
  expect(images.freight).toMatchObject({ uploaded: 2, there: 1 });
});

test('push --dry-run refuses a delta without its base, and writes nothing to the medium', async () => {
  const { code, hint } = await refused(push('delta', { dryRun: true }));
  expect(code).toBe('MISSING_BASE');
  expect(hint).toMatch(/^A push would be refused. Ask for a full medium/);
  expect(existsSync(world.path('delta', 'fleet', 'requests'))).toBe(false);
});

test('push refuses a delta without its base, names what is missing, and writes the need to the medium', async () => {
  const error = await refused(push('delta'));
  expect(error.code).toBe('MISSING_BASE');
  expect(error.message).toMatch(
    /leaves out 1 blob \(sha256:[0-9a-f]{12}\) that oci:\/\/memory.test\/fleet does not have/,
  );
  expect([...registry.tags.keys()]).toEqual([]);
  const folder = world.path('delta', 'fleet', 'requests');
  const [file = ''] = await readdir(folder);
  expect(error.hint).toContain(file);
  const needs = JSON.parse(await readFile(join(folder, file), 'utf8'));
  expect(needs).toMatchObject({ fleet: 'acme', agent: 'edge/registry', holds: [] });
  expect(needs.missing).toHaveLength(1);

  // The next medium made there carries what is asked for, and the push of it takes the note off.
  await world.export('delta', { bases: [world.path('base')] });
  const again = await push('delta');
  expect(again.pointers[0]).toMatchObject({ outcome: 'sent' });
  expect(existsSync(join(folder, file))).toBe(false);
});

test('push writes only the given channels', async () => {
  const { pointers } = await push('both', { selection: { channels: [GATE] } });
  expect(pointers.map(({ repository }) => repository)).toEqual(['prod/gate']);
  expect([...registry.tags.keys()].some((tag) => tag.startsWith('prod/kiosk'))).toBe(false);
});

test('push --dry-run writes nothing, and counts what a push uploads', async () => {
  const { pointers, images } = await push('base', { dryRun: true });
  expect(pointers).toMatchObject([{ outcome: 'planned', name: 'release 1' }]);
  expect(images.freight.uploaded).toBe(3);
  expect(registry.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  const sent = await push('base');
  const lineOf = ({ freight: { uploaded, mounted, bytes } }: { readonly freight: TransferCounts }) => [
    uploaded,
    mounted,
    bytes,
  ];
  expect([images, ...pointers].map(lineOf)).toEqual([sent.images, ...sent.pointers].map(lineOf));
});

test('push accepts a set of parts as a whole medium, and refuses it without one of its parts', async () => {
  await fillForm(world.path('layout'), world.path('set'), 'set');
  const parts = world.path('set', 'fleet', 'parts');
  const [first = ''] = await readdir(parts);
  await mkdir(world.path('mailed'));
  await copyFile(join(parts, first), world.path('mailed', first));
  expect((await refused(push('mailed'))).code).toBe('PARTS_MISSING');
  expect(registry.tags.size).toBe(0);
  await push('set');
  checkReachable(registry, 'prod/kiosk');
  checkReachable(registry, 'registry.test/web');
});
