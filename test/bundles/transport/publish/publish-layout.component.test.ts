import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { type PublishOptions, publishLayout } from '#bundles/transport/publish/publish-layout';
import { addDays } from '#bundles/time';
import { parseRoot } from '#bundles/trust/root/root';
import { readRelease } from '../../../../scheduler/load/releases/read-release.ts';
import { openLayoutDestination } from '../../../../scheduler/deliver/send/layout-destination.ts';
import {
  type LayoutWriter,
  NOW,
  newFleet,
  newSigningKey,
  rotate,
  type SignedFleet,
  type TestBundle,
  writeSignedLayout,
} from '../../../harness/fleets/signed-layout.ts';
import { isTried } from '../../../harness/run/long.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { checkReachable, type MemoryRegistry, memoryRegistry } from './memory-destination.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };
const GATE = { environment: 'dev', clusterType: 'gate' };

const bundleOf = (text: string): TestBundle => ({
  kind: 'kubernetes',
  packages: { web: { 'app.yaml': `text: ${text}\n` } },
  images: [{ name: 'web', layers: [Buffer.alloc(5000, 'base'), Buffer.alloc(700, text)] }],
});

type World = AsyncDisposable & {
  readonly fleet: SignedFleet;
  readonly layout: LayoutWriter;
  readonly path: (name: string) => string;
  readonly registry: MemoryRegistry;
  readonly publish: (options?: Partial<PublishOptions>, from?: string) => Promise<Record<string, string>>;
};

/** Release 1 of prod/kiosk and of dev/gate, and site plant-7 with receipts. */
const writeFirst = async (layout: LayoutWriter): Promise<void> => {
  await layout.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')] });
  await layout.release({ channel: GATE, version: 1, bundles: [bundleOf('one')] });
  await layout.site({
    site: 'plant-7',
    version: 1,
    agents: [{ name: 'line-1', channel: KIOSK, key: newSigningKey() }],
  });
  await layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 4 }]);
};

/** Made once, then copied. */
const fleet = await newFleet();
const template = await temporaryDirectory('publish-template');
await writeFirst(writeSignedLayout(fleet, template.path));
afterAll(() => template[Symbol.asyncDispose]());

const makeWorld = async (): Promise<World> => {
  const folder = await temporaryDirectory('publish');
  const path = (name: string): string => join(folder.path, name);
  cpSync(template.path, path('layout'), { recursive: true });
  const layout = writeSignedLayout(fleet, path('layout'));
  const registry = memoryRegistry();
  return {
    fleet,
    layout,
    path,
    registry,
    publish: async (options = {}, from = 'layout') => {
      const signal = new AbortController().signal;
      const outcomes = await publishLayout(await openLayout(path(from)), registry, {
        now: NOW,
        signal,
        ...options,
      });
      return Object.fromEntries(
        outcomes.map(({ repository, tag, outcome, error }) => [
          `${repository}:${tag}`,
          error?.code ?? outcome,
        ]),
      );
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

const pointerOf = ({ registry }: World, reference: string) => registry.tags.get(reference);

describe('publishLayout', () => {
  it('sends every channel and site; a second run sends one HEAD for each and nothing else', async () => {
    await using world = await makeWorld();
    const all = ['dev/gate:release', 'prod/kiosk:release', 'sites/plant-7:receipts', 'sites/plant-7:site'];
    expect(await world.publish()).toEqual(Object.fromEntries(all.map((one) => [one, 'sent'])));
    for (const repository of ['dev/gate', 'prod/kiosk', 'sites/plant-7'])
      checkReachable(world.registry, repository);
    world.registry.requests.length = 0;
    expect(await world.publish()).toEqual(Object.fromEntries(all.map((one) => [one, 'unchanged'])));
    expect(world.registry.requests.toSorted()).toEqual(all.map((one) => `HEAD ${one}`));
  });

  it("tags every manifest permanently, and the bundle's signature under the tag that cosign reads", async () => {
    await using world = await makeWorld();
    await world.publish({ selection: { channels: [KIOSK] } });
    const tags = [...world.registry.tags.keys()].map((tag) => tag.replace('prod/kiosk:', ''));
    expect(tags.map((tag) => tag.replace(/[0-9a-f]{64}$/, '')).toSorted()).toEqual(
      ['b-', 'bundle', 'i-', 'r-', 'release', 's-', 'sha256-'].toSorted(),
    );
    const bundle = world.registry.tags.get('prod/kiosk:bundle');
    expect(tags).toContain(`b-${bundle?.slice(7)}`);
    expect(tags).toContain(`sha256-${bundle?.slice(7)}`);
  });

  it('moves the tag that Flux and Argo CD follow only when a rollout reaches every agent', async () => {
    await using world = await makeWorld();
    const publish = () => world.publish({ selection: { channels: [KIOSK] } });
    const tag = () => world.registry.tags.get('prod/kiosk:bundle');
    await publish();
    const before = tag();
    const bundles = [bundleOf('two')];
    const stages = [
      { percent: 100, selector: { ring: 'pilot' } },
      { percent: 50 },
      { percent: 100 },
    ] as const;
    for (const [at, rollout] of stages.entries()) {
      await world.layout.release({ channel: KIOSK, version: 2 + at, bundles, rollout });
      expect(await publish()).toEqual({ 'prod/kiosk:release': 'sent' });
      if (at < 2) expect(tag()).toBe(before);
    }
    expect(tag()).not.toBe(before);
    expect([...world.registry.tags.keys()]).toContain(`prod/kiosk:b-${tag()?.slice(7)}`);
  });

  it('writes statements before the pointer, and the pointer last', async () => {
    await using world = await makeWorld();
    await world.publish({ selection: { channels: [KIOSK] } });
    const puts = world.registry.requests.filter((request) => request.startsWith('PUT'));
    expect(puts.at(-1)).toBe('PUT prod/kiosk:release');
    const at = (begin: string) =>
      puts.findLastIndex((request) => request.startsWith(`PUT prod/kiosk:${begin}`));
    const order = ['i-', 'b-', 's-', 'sha256-', 'r-', 'bundle', 'release'].map(at);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
    expect(order.every((index) => index >= 0)).toBe(true);
  });

  it('sends a lease after its release, with the roots, and the lease pointer last', async () => {
    await using world = await makeWorld();
    await world.layout.lease({ channel: KIOSK, version: 4 });
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toEqual({
      'prod/kiosk:release': 'sent',
      'prod/kiosk:lease': 'sent',
    });
    const puts = world.registry.requests.filter((request) => request.startsWith('PUT'));
    expect(puts.at(-1)).toBe('PUT prod/kiosk:lease');
    expect(puts.indexOf('PUT prod/kiosk:release')).toBeLessThan(puts.length - 2);
    expect(puts.at(-2)).toMatch(/^PUT prod\/kiosk:r-/);
    checkReachable(world.registry, 'prod/kiosk');
    await world.layout.lease({ channel: KIOSK, version: 5 });
    expect(await world.publish({ selection: { environments: ['prod'] } })).toEqual({
      'prod/kiosk:release': 'unchanged',
      'prod/kiosk:lease': 'sent',
    });
    // A copy of the layout from before.
    await world.layout.lease({ channel: KIOSK, version: 3 });
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toMatchObject({
      'prod/kiosk:lease': 'ROLLBACK',
    });
  });

  it('refuses a lease signed by a key without the lease role: UNKNOWN_KEY', async () => {
    await using world = await makeWorld();
    await world.layout.lease({ channel: KIOSK, version: 1, key: world.fleet.keys.release });
    expect(await world.publish()).toMatchObject({
      'prod/kiosk:lease': 'UNKNOWN_KEY',
      'prod/kiosk:release': 'sent',
    });
  });

  it('sends a layer that two channels share once', async () => {
    await using world = await makeWorld();
    const signal = new AbortController().signal;
    const options = { now: NOW, signal };
    const outcomes = await publishLayout(await openLayout(world.path('layout')), world.registry, options);
    const mounted = outcomes.map(({ freight }) => freight.mounted).reduce((a, b) => a + b, 0);
    const uploads = outcomes.map(({ freight }) => freight.uploaded).reduce((a, b) => a + b, 0);
    const distinct = new Set([...world.registry.content.keys()].map((key) => key.split('@')[1]));
    const manifests = new Set(world.registry.tags.values());
    expect(mounted).toBeGreaterThan(2);
    expect(uploads).toBe(distinct.size - manifests.size);
  });

  it('sends only the selected environments, sites or channels', async () => {
    await using world = await makeWorld();
    expect(await world.publish({ selection: { environments: ['dev'] } })).toEqual({
      'dev/gate:release': 'sent',
    });
    expect(await world.publish({ selection: { sites: ['plant-7'] } })).toEqual({
      'sites/plant-7:receipts': 'sent',
      'sites/plant-7:site': 'sent',
    });
    const nowhere = [{ environment: 'prod', clusterType: 'gate' }];
    await expect(world.publish({ selection: { channels: nowhere } })).rejects.toMatchObject({
      code: 'CHANNEL_MISSING',
      hint: 'It has dev/gate, prod/kiosk',
    });
    const mistyped = [{ environment: 'prod', clusterType: 'kisok' }];
    await expect(world.publish({ selection: { channels: mistyped } })).rejects.toMatchObject({
      hint: 'Did you mean prod/kiosk? It has dev/gate, prod/kiosk',
    });
    await expect(world.publish({ selection: { environments: ['pord'] } })).rejects.toMatchObject({
      hint: 'Did you mean prod? It has dev/gate, prod/kiosk',
    });
    await expect(world.publish({ selection: { sites: ['plant-8'] } })).rejects.toMatchObject({
      code: 'SITE_MISSING',
      hint: 'Did you mean plant-7? Enrol a new site first: fleet-scheduler sites enroll',
    });
  });

  it('with dryRun returns what it would send, and sends nothing', async () => {
    await using world = await makeWorld();
    const signal = new AbortController().signal;
    const options = { now: NOW, signal, dryRun: true };
    const planned = await publishLayout(await openLayout(world.path('layout')), world.registry, options);
    expect(planned[0]).toMatchObject({ outcome: 'planned', name: 'release 1' });
    const bytesOf = (outcomes: typeof planned): number =>
      outcomes.reduce((sum, { freight }) => sum + freight.bytes, 0);
    expect(bytesOf(planned)).toBeGreaterThan(5700);
    expect(world.registry.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
    await world.publish();
    const again = await publishLayout(await openLayout(world.path('layout')), world.registry, options);
    expect(again.every(({ outcome }) => outcome === 'unchanged')).toBe(true);
  });

  it('reports packages that the published release has and the new one lacks, in dry run and while sending', async () => {
    await using world = await makeWorld();
    const [signal, two] = [
      new AbortController().signal,
      { ...bundleOf('one').packages, label: { 'a.yaml': 'a: 1\n' } },
    ];
    await world.layout.release({
      channel: KIOSK,
      version: 2,
      bundles: [{ ...bundleOf('one'), packages: two }],
    });
    await world.publish();
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('two')] });
    const publish = async (dryRun: boolean) => {
      const layout = await openLayout(world.path('layout'));
      const outcomes = await publishLayout(layout, world.registry, { now: NOW, signal, dryRun });
      return outcomes.flatMap(({ repository, outcome, removes }) =>
        removes ? [[repository, outcome, removes]] : [],
      );
    };
    expect(await publish(true)).toEqual([['prod/kiosk', 'planned', ['label']]]);
    expect(await publish(false)).toEqual([['prod/kiosk', 'sent', ['label']]]);
    expect(await publish(false)).toEqual([]);
  });

  it('sends lost blobs again with repair, and does not look for them without it', async () => {
    await using world = await makeWorld();
    await world.publish();
    const [lost] = [...world.registry.content.keys()].filter(
      (key) =>
        key.startsWith('prod/kiosk@') &&
        !new Set(world.registry.tags.values()).has(key.split('@')[1] as never),
    );
    world.registry.content.delete(lost as string);
    expect(await world.publish()).toMatchObject({ 'prod/kiosk:release': 'unchanged' });
    expect(() => checkReachable(world.registry, 'prod/kiosk')).toThrow();
    expect(await world.publish({ repair: true })).toMatchObject({
      'prod/kiosk:release': 'sent',
      'dev/gate:release': 'unchanged',
    });
    checkReachable(world.registry, 'prod/kiosk');
  });

  it('interrupted before any request leaves the old or the new release complete, and the next run finishes', async () => {
    await using world = await makeWorld();
    await world.publish();
    const old = pointerOf(world, 'prod/kiosk:release');
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    const selection = { channels: [KIOSK] };
    let count = 0;
    world.registry.before = () => {
      count += 1;
    };
    const saved = [new Map(world.registry.tags), new Map(world.registry.content)] as const;
    const reset = (): void => {
      world.registry.tags.clear();
      world.registry.content.clear();
      for (const [tag, digest] of saved[0]) world.registry.tags.set(tag, digest);
      for (const [key, content] of saved[1]) world.registry.content.set(key, content);
    };
    expect(await world.publish({ selection })).toEqual({ 'prod/kiosk:release': 'sent' });
    const fresh = pointerOf(world, 'prod/kiosk:release');
    const requests = count;
    expect(requests).toBeGreaterThan(10);
    const stops = Array.from({ length: requests }, (_, index) => index + 1);
    // The last two write the pointer and what it names.
    for (const at of stops.filter((one) => isTried(one, 2) || one > requests - 2)) {
      reset();
      let left = at;
      world.registry.before = () => {
        left -= 1;
        if (left <= 0) throw new FleetError('ABORTED', 'killed');
      };
      await expect(world.publish({ selection })).rejects.toMatchObject({ code: 'ABORTED' });
      expect([old, fresh]).toContain(pointerOf(world, 'prod/kiosk:release'));
      checkReachable(world.registry, 'prod/kiosk');
      world.registry.before = () => {};
      await world.publish({ selection });
      expect(pointerOf(world, 'prod/kiosk:release')).toBe(fresh);
      checkReachable(world.registry, 'prod/kiosk');
    }
  });
});

describe('a published pointer', () => {
  /** Two layouts of one fleet: a copy of the first, which then goes its own way. */
  const fork = async (world: World): Promise<LayoutWriter> => {
    const other = writeSignedLayout(world.fleet, world.path('other'));
    await other.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')] });
    return other;
  };

  it('is not moved to an older release: ROLLBACK', async () => {
    await using world = await makeWorld();
    await fork(world);
    await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.publish();
    const newest = pointerOf(world, 'prod/kiosk:release');
    expect(await world.publish({}, 'other')).toEqual({ 'prod/kiosk:release': 'ROLLBACK' });
    expect(pointerOf(world, 'prod/kiosk:release')).toBe(newest);
  });

  it('is not given other content under its number: EQUIVOCATION; other channels are published', async () => {
    await using world = await makeWorld();
    const other = await fork(world);
    await other.release({ channel: KIOSK, version: 1, bundles: [bundleOf('lie')] });
    await other.release({ channel: GATE, version: 2, bundles: [bundleOf('two')] });
    await world.publish();
    expect(await world.publish({}, 'other')).toEqual({
      'prod/kiosk:release': 'EQUIVOCATION',
      'dev/gate:release': 'sent',
    });
  });

  it('of a site statement or receipts is not moved back: ROLLBACK', async () => {
    await using world = await makeWorld();
    const other = await fork(world);
    await other.site({ site: 'plant-7', version: 3, agents: [] });
    await world.publish({}, 'other');
    expect(await world.publish()).toMatchObject({ 'sites/plant-7:site': 'ROLLBACK' });
  });

  it('of another fleet is not overwritten', async () => {
    await using world = await makeWorld();
    const stranger = writeSignedLayout(await newFleet('rival'), world.path('other'));
    await stranger.release({ channel: KIOSK, version: 1, bundles: [bundleOf('one')] });
    await world.publish({}, 'other');
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toEqual({
      'prod/kiosk:release': 'ROOT_FLEET',
    });
  });

  it('to a release that only a retired key signed does not block publishing', async () => {
    await using world = await makeWorld();
    await world.layout.release({ channel: KIOSK, version: 900, bundles: [bundleOf('stolen')] });
    await world.publish();
    const fleet = await rotate(world.fleet, 'release');
    const after = writeSignedLayout(fleet, world.path('after'));
    await after.release({ channel: KIOSK, version: 2, bundles: [bundleOf('good')] });
    expect(await world.publish({}, 'after')).toEqual({ 'prod/kiosk:release': 'sent' });
    // And the other way round: who has not heard of the new root goes no further.
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toEqual({
      'prod/kiosk:release': 'ROOT_BEHIND',
    });
  });

  it('that moves during a run is read again: the older publisher stops', async () => {
    await using world = await makeWorld();
    const other = await fork(world);
    await other.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.publish({ selection: { channels: [KIOSK] } });
    await other.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('three')] });
    let met = false;
    world.registry.before = async (request) => {
      if (met || !request.startsWith('PUT prod/kiosk:r-')) return;
      met = true;
      await world.publish({ selection: { channels: [KIOSK] } });
    };
    expect(await world.publish({}, 'other')).toEqual({ 'prod/kiosk:release': 'ROLLBACK' });
    checkReachable(world.registry, 'prod/kiosk');
  });

  it('that an older publisher overwrote during a run is written again by the newer publisher', async () => {
    await using world = await makeWorld();
    const other = await fork(world);
    await world.publish({ selection: { channels: [KIOSK] } });
    await other.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
    await world.layout.release({ channel: KIOSK, version: 3, bundles: [bundleOf('three')] });
    const older = { selection: { channels: [KIOSK] } };
    await world.publish(older, 'other');
    const stale = pointerOf(world, 'prod/kiosk:release');
    let met = false;
    world.registry.before = (request) => {
      if (met || request !== 'HEAD prod/kiosk:release' || pointerOf(world, 'prod/kiosk:release') === stale)
        return;
      // The older one had looked before we wrote, and writes now.
      met = true;
      world.registry.tags.set('prod/kiosk:release', stale as never);
    };
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toEqual({
      'prod/kiosk:release': 'sent',
    });
    expect(met).toBe(true);
    expect(pointerOf(world, 'prod/kiosk:release')).not.toBe(stale);
  });
});

describe('publishLayout refuses', () => {
  it('a layout with a missing blob, before it sends anything', async () => {
    await using world = await makeWorld();
    const layout = await openLayout(world.path('layout'));
    await Promise.all(
      (await layout.blobs.list()).map(async (digest) => {
        if ((await layout.blobs.size(digest)) === 5000) await layout.blobs.remove(digest);
      }),
    );
    expect(await world.publish({ selection: { channels: [KIOSK] } })).toEqual({
      'prod/kiosk:release': 'MISSING_BLOB',
    });
    expect(world.registry.requests.filter((request) => request.startsWith('PUT'))).toEqual([]);
  });

  it('a release that no key of the fleet signed, or that has expired', async () => {
    await using world = await makeWorld();
    await world.layout.release({
      channel: KIOSK,
      version: 2,
      bundles: [bundleOf('two')],
      bundleKey: newSigningKey(),
    });
    await world.layout.release({
      channel: GATE,
      version: 2,
      bundles: [bundleOf('two')],
      expires: addDays(NOW, -0.5),
    });
    expect(await world.publish({ selection: { channels: [KIOSK, GATE] } })).toEqual({
      'prod/kiosk:release': 'UNKNOWN_KEY',
      'dev/gate:release': 'EXPIRED',
    });
  });
});

describe('another layout as the destination', () => {
  it('receives the same releases and blobs, readable as a layout', async () => {
    await using world = await makeWorld();
    const source = await openLayout(world.path('layout'));
    const signal = new AbortController().signal;
    for (const expected of ['sent', 'unchanged']) {
      await using mirror = await openLayoutDestination(world.path('mirror'), NOW);
      const outcomes = await publishLayout(source, mirror, { now: NOW, signal });
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 4 }, () => expected));
    }
    const mirrored = await openLayout(world.path('mirror'));
    // All but the referrer manifests and the empty list, which only a registry needs.
    const blobs = new Set(await mirrored.blobs.list());
    expect((await source.blobs.list()).filter((digest) => !blobs.has(digest))).toEqual([]);
    const again = await world.publish({}, 'mirror');
    expect(Object.values(again)).toEqual(['sent', 'sent', 'sent', 'sent']);
  });

  it('is locked during a write: BUSY', async () => {
    await using world = await makeWorld();
    await using _ = await openLayoutDestination(world.path('mirror'), NOW);
    await expect(openLayoutDestination(world.path('mirror'), NOW, 0)).rejects.toMatchObject({ code: 'BUSY' });
  });
});

describe('two layouts with the same keys', () => {
  const releases = async (directory: string, texts: readonly string[]): Promise<void> => {
    const layout = writeSignedLayout(fleet, directory);
    for (const [at, text] of texts.entries()) {
      await layout.keep(KIOSK);
      const before = await previousOf(directory);
      const issuedAt = new Date(NOW.getTime() + at * 1000);
      await layout.release({
        channel: KIOSK,
        version: at + 2,
        bundles: [bundleOf(text)],
        issuedAt,
        previous: before,
      });
    }
    await layout.keep(KIOSK);
  };
  const previousOf = async (directory: string) => {
    const found = await readRelease(
      await openLayout(directory),
      KIOSK,
      fleet.roots.map((bytes) => parseRoot(bytes)),
    );
    if (!found) throw new Error('there is no release');
    return found.digest;
  };

  it('I7: a release that follows on another release with the number of the published one does not replace it', async () => {
    await using world = await makeWorld();
    cpSync(world.path('layout'), world.path('other'), { recursive: true });
    const selection = { channels: [KIOSK] };
    await releases(world.path('layout'), ['two', 'three']);
    expect(await world.publish({ selection })).toEqual({ 'prod/kiosk:release': 'sent' });
    await releases(world.path('other'), ['two of others', 'three of others', 'four of others']);
    const published = await world.publish({ selection }, 'other');
    expect(published['prod/kiosk:release']).toBe('EQUIVOCATION');
  });

  it('a release that skips unpublished releases of its own layout replaces the published one', async () => {
    await using world = await makeWorld();
    const selection = { channels: [KIOSK] };
    expect(await world.publish({ selection })).toEqual({ 'prod/kiosk:release': 'sent' });
    await releases(world.path('layout'), ['two', 'three', 'four']);
    expect(await world.publish({ selection })).toEqual({ 'prod/kiosk:release': 'sent' });
  });
});
