import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { encodeManifest } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf } from '#bundles/digest';
import { toDescriptor } from '#bundles/formats/layout/document';
import { LEASE_ARTIFACT, OCI_EMPTY, OCI_MANIFEST, ROOT_JSON } from '#bundles/media-types';
import { addDays } from '#bundles/time';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { type Pulled, pullRelease } from '../../../agent/acquire/pull-release.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { readStaleness } from '../../../agent/acquire/staleness/read-staleness.ts';
import { recordStaleness } from '../../../agent/acquire/staleness/record-staleness.ts';
import { readFloors, readStatement } from '../../../agent/store/trust.ts';
import { verdict } from '../../bundles/verdict.ts';
import {
  CHANNEL,
  createTestFleet,
  packTestBundle,
  rotateRoot,
  type TestMedium,
  type TestRelease,
  writeTestMedium,
} from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { type RegistryServer, startRegistryServer } from '../registry-server.ts';
import { createWorld, NOW, onePackage, SITE, testAgent, testEdge, type World } from '../world.ts';

const LEASE_TAG = 'fleet/prod/factory-host:lease';
const HEAD_LEASE = 'HEAD /v2/fleet/prod/factory-host/manifests/lease';

type Online = AsyncDisposable & {
  readonly world: World;
  readonly server: RegistryServer;
  readonly publish: (what: TestMedium) => Promise<void>;
  /** One poll on a day, and what it leads to. */
  readonly poll: (day?: number) => Promise<Pulled | undefined>;
  readonly on: (day: number) => Agent;
};

const online = async (): Promise<Online> => {
  const stack = new AsyncDisposableStack();
  const world = stack.use(await createWorld());
  const server = stack.use(await startRegistryServer());
  const registry = stack.use(server.open());
  let media = 0;
  const on = (day: number): Agent =>
    testAgent(world.agent.state, world.folder, { edge: testEdge(addDays(NOW, day)) });
  return {
    world,
    server,
    on,
    publish: async (what) =>
      server.publish(await writeTestMedium(join(world.folder, `published-${++media}`), world.fleet, what)),
    poll: async (day = 0) => {
      const seen = await pollRegistry(on(day), registry, true);
      return seen.news ? pullRelease(on(day), registry, seen, (work) => work()) : undefined;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

const order = ({ agent }: World, days: number | undefined, version = 1) => ({
  site: SITE,
  version,
  agents: [
    {
      name: 'kiosk-1',
      key: agent.identity.key,
      ...(days === undefined ? {} : { freshness: { mode: 'lease', seconds: days * 86_400 } as const }),
    },
  ],
});

const releaseOf = ({ fleet }: World, version: number, content = `${version}`): TestRelease => ({
  version,
  bundle: packTestBundle(fleet, [onePackage('app', content)]),
});

const leaseOf = (release: TestRelease, version: number, day: number) => ({
  version,
  release,
  issuedAt: addDays(NOW, day),
  expires: addDays(NOW, day + 14),
});

/** Puts an artifact behind the tag of leases. */
const hang = (
  { server }: Online,
  layers: readonly { role: string; bytes: Buffer; version?: number }[],
): Digest => {
  const empty = Buffer.from('{}');
  server.blobs.set(digestOf(empty), empty);
  const documents = layers.map(({ role, bytes, version = 1 }) => {
    server.blobs.set(digestOf(bytes), bytes);
    const what = { digest: digestOf(bytes), size: bytes.byteLength, mediaType: ROOT_JSON };
    return toDescriptor({ role, ...what, version, ...(role === 'lease' ? CHANNEL : {}) });
  });
  const { bytes, descriptor } = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: LEASE_ARTIFACT,
    config: { mediaType: OCI_EMPTY, digest: digestOf(empty), size: empty.byteLength },
    layers: documents,
  });
  server.blobs.set(descriptor.digest, bytes);
  server.tags.set(LEASE_TAG, descriptor.digest);
  return descriptor.digest;
};

const told = ({ world }: Online) => world.events().map(({ type, code }) => (code ? `${type} ${code}` : type));

describe('a lease in a registry', () => {
  it('is requested with each poll when the site statement requires leases, and accepted without an event', async () => {
    await using it = await online();
    const release = releaseOf(it.world, 1);
    await it.publish({ site: order(it.world, 14), release, lease: leaseOf(release, 1, -1) });
    await it.poll();
    const before = told(it);
    it.server.asked.length = 0;
    expect(await it.poll(5)).toBeUndefined();
    expect(it.server.asked).toContain(HEAD_LEASE);
    expect(it.server.asked).toHaveLength(4);
    await it.publish({ lease: leaseOf(release, 2, 10) });
    expect(await it.poll(10)).toMatchObject({ news: 'same' });
    expect(readFloors(it.world.agent.state)).toMatchObject({ release: 1, lease: 2 });
    expect(readStaleness(it.on(20))).toBeUndefined();
    expect(readStaleness(it.on(25))?.causes).toMatchObject([{ what: 'lease' }]);
    expect(told(it)).toEqual(before);
    expect(await it.poll(11)).toBeUndefined();
  });

  it('is not requested when none is required, until the release expires soon', async () => {
    await using it = await online();
    const release = releaseOf(it.world, 1);
    await it.publish({ site: order(it.world, undefined), release });
    await it.poll();
    it.server.asked.length = 0;
    await it.poll(100);
    expect(it.server.asked).toHaveLength(3);
    it.server.asked.length = 0;
    await it.poll(140);
    expect(it.server.asked).toContain(HEAD_LEASE);
    await it.publish({ lease: leaseOf(release, 1, 155) });
    await it.poll(165);
    expect(readStaleness(it.on(165))).toBeUndefined();
    expect(readFloors(it.world.agent.state).lease).toBe(1);
  });

  it('M17: renews a release that has ended, and ends the staleness with an event', async () => {
    await using it = await online();
    const release = releaseOf(it.world, 1);
    await it.publish({ site: order(it.world, undefined), release });
    await it.poll();
    await reconcile(it.on(0));
    recordStaleness(it.on(200));
    await it.publish({ lease: leaseOf(release, 1, 199) });
    await it.poll(200);
    expect(told(it).slice(-2)).toEqual(['stale EXPIRED', 'stale']);
    expect(readStaleness(it.on(200))).toBeUndefined();
  });

  it('M18: that is foreign or old is left aside, and the release beside it is taken', async () => {
    await using it = await online();
    const [one, two] = [releaseOf(it.world, 1), releaseOf(it.world, 2)];
    await it.publish({ site: order(it.world, undefined), release: one, lease: leaseOf(one, 5, -1) });
    await it.poll();
    await it.publish({ release: two, lease: leaseOf(one, 6, 0) });
    expect(await it.poll()).toMatchObject({ release: { version: 2 }, news: 'newer', skippedLeases: 1 });
    expect(readFloors(it.world.agent.state)).toMatchObject({ release: 2, lease: 5 });
    expect(await it.poll()).toBeUndefined();
    await it.publish({ lease: leaseOf(two, 4, 0) });
    await it.poll(150);
    expect(readFloors(it.world.agent.state)).toMatchObject({ lease: 5 });
    expect(told(it).filter((line) => line.startsWith('refused'))).toEqual([]);
  });

  it('M18: that was pushed by a stranger keeps no good release away', async () => {
    await using it = await online();
    const junk: readonly (() => void)[] = [
      () => hang(it, [{ role: 'lease', bytes: Buffer.from('no lease') }]),
      () => hang(it, [{ role: 'root', bytes: Buffer.from('no root') }]),
      () =>
        hang(it, [
          { role: 'release', bytes: Buffer.from('no release') },
          { role: 'site', bytes: Buffer.from('x') },
        ]),
      () =>
        hang(
          it,
          Array.from({ length: 900 }, (_, n) => ({ role: 'lease', bytes: Buffer.from(`junk ${n}`) })),
        ),
      () => {
        const gone = hang(it, [{ role: 'lease', bytes: Buffer.from('gone') }]);
        it.server.blobs.delete(digestOf('gone'));
        expect(it.server.blobs.has(gone)).toBe(true);
      },
      () => {
        const bytes = Buffer.from('{"schemaVersion":2}');
        it.server.blobs.set(digestOf(bytes), bytes);
        it.server.tags.set(LEASE_TAG, digestOf(bytes));
      },
    ];
    for (const [index, push] of junk.entries()) {
      await it.publish({ site: order(it.world, undefined), release: releaseOf(it.world, index + 1) });
      push();
      expect(await it.poll(), `junk ${index}`).toMatchObject({ news: 'newer' });
      // And not looked into again and again.
      expect(await it.poll(), `junk ${index}`).toBeUndefined();
    }
    await reconcile(it.on(0));
    expect(liveFiles(join(it.world.folder, 'machine'))).toEqual({ '/opt/app': '6' });
    expect(told(it).filter((line) => line.startsWith('refused'))).toEqual([]);
  });

  it('that is required and missing refuses the release, with one event, until the lease is there', async () => {
    await using it = await online();
    const release = releaseOf(it.world, 1);
    await it.publish({ site: order(it.world, 14), release });
    for (const day of [20, 21]) expect(await verdict(() => it.poll(day))).toBe('LEASE_MISSING');
    expect(told(it)).toEqual(['enrolled', 'refused LEASE_MISSING']);
    await it.publish({ lease: leaseOf(release, 1, 20) });
    expect(await it.poll(21)).toMatchObject({ news: 'newer' });
  });

  it('is accepted together with the root that names its key', async () => {
    await using it = await online();
    const release = releaseOf(it.world, 1);
    await it.publish({ site: order(it.world, 40), release });
    await it.poll();
    const rotated = await rotateRoot(it.world.fleet, { lease: (await createTestFleet('x')).keys.lease });
    const about = readStatement(it.world.agent.state, 'release', 'prod/factory-host')?.digest;
    if (!about) throw new Error('no release was accepted');
    it.server.publish(
      await writeTestMedium(join(it.world.folder, 'rotated'), rotated, {
        lease: { ...leaseOf(release, 1, 9), about },
      }),
    );
    await it.poll(10);
    expect(readFloors(it.world.agent.state)).toMatchObject({ root: 2, lease: 1 });
  });
});

describe('a site that moves to another cluster type by registry', () => {
  it('is refused without its previous channel, accepts the new one, and keeps the version floors of both', async () => {
    await using it = await online();
    const { key } = it.world.agent.identity;
    const panel = { environment: 'prod', clusterType: 'panel' };
    const move = (version: number, channel = panel, previousChannel?: typeof panel) => ({
      site: SITE,
      version,
      agents: [{ name: 'kiosk-1', key, channel, ...(previousChannel ? { previousChannel } : {}) }],
    });
    const release = (version: number, channel = panel): TestRelease => ({
      version,
      bundle: packTestBundle(
        it.world.fleet,
        [onePackage('app', `${channel.clusterType} ${version}`)],
        channel,
      ),
    });
    await it.publish({ site: move(1, CHANNEL), release: release(5, CHANNEL) });
    await it.poll();
    await it.publish({ site: move(2), release: release(1) });
    expect(await verdict(() => it.poll())).toBe('WRONG_CHANNEL');
    await it.publish({ site: move(2, panel, CHANNEL) });
    expect(await it.poll()).toMatchObject({ release: { clusterType: 'panel', version: 1 } });
    await reconcile(it.on(0));
    expect(liveFiles(join(it.world.folder, 'machine'))).toEqual({ '/opt/app': 'panel 1' });
    await it.publish({ site: move(3, CHANNEL, panel), release: release(4, CHANNEL) });
    expect(await verdict(() => it.poll())).toBe('ROLLBACK');
    expect(readFloors(it.world.agent.state)).toMatchObject({ site: 2, release: 1 });
  });
});
