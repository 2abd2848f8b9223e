import { describe, expect, it as test } from 'vitest';
import { encodeManifest } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf } from '#bundles/digest';
import { toDescriptor } from '#bundles/formats/layout/document';
import { readManifest } from '#bundles/formats/layout/read-manifest';
import { LEASE_ARTIFACT, OCI_EMPTY, OCI_MANIFEST, ROOT_JSON } from '#bundles/media-types';
import { addDays } from '#bundles/time';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { type Pulled, pullRelease } from '../../../agent/acquire/pull-release.ts';
import { readRegistryOffer } from '../../../agent/acquire/offers/read-registry-offer.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { readSecretSets } from '../../../agent/store/secret-sets.ts';
import { readFloors } from '../../../agent/store/trust.ts';
import { verdict } from '../../bundles/verdict.ts';
import { CHANNEL, packTestBundle, type TestRelease } from '../../harness/fleets/signed-medium.ts';
import { type RegistryServer, startRegistryServer } from '../registry-server.ts';
import { createSecretWorld, type SecretWorld, secretPackage } from '../secrets/secret-world.ts';
import { NOW, SITE } from '../world.ts';

const LEASE_TAG = 'fleet/prod/factory-host:lease';
const RELEASE_TAG = 'fleet/prod/factory-host:release';
const DAY_S = 86_400;

/** An agent whose order wants leases and has a secret set, behind a registry. */
type Online = AsyncDisposable & {
  readonly it: SecretWorld;
  readonly server: RegistryServer;
  readonly poll: () => Promise<Pulled | undefined>;
  /** A release with a lease of it, and the site statement. @returns the digest of the sealed set */
  readonly publish: (version: number, password?: string) => Promise<Digest>;
  /** What was ever written to the store, as SQLite counts rows. */
  readonly writes: () => number;
};

const online = async (): Promise<Online> => {
  const stack = new AsyncDisposableStack();
  const it = stack.use(await createSecretWorld());
  const server = stack.use(await startRegistryServer());
  const registry = stack.use(server.open());
  const { agent } = it;
  return {
    it,
    server,
    writes: () => (agent.state.db.prepare('SELECT total_changes() AS n').get() as { n: number }).n,
    poll: async () => {
      const seen = await pollRegistry(agent, registry, true);
      if (!seen.news) return undefined;
      const pulled = await pullRelease(agent, registry, seen, (work) => work());
      await reconcile(agent);
      return pulled;
    },
    publish: async (version, password = `password ${version}`) => {
      const app = { ...secretPackage('app', 'db', 'password'), files: { '/opt/app': `app ${version}` } };
      const release: TestRelease = { version, bundle: packTestBundle(it.fleet, [app]) };
      const sealed = await it.seal('db', { password }, { version });
      const freshness = { mode: 'lease', seconds: 40 * DAY_S } as const;
      const own = { name: 'kiosk-1', key: agent.identity.key, recipient: it.recipient, freshness };
      server.publish(
        await it.medium({
          site: { site: SITE, version, agents: [own], secrets: { db: sealed } },
          release,
          lease: { version, release, issuedAt: addDays(NOW, -1), expires: addDays(NOW, 29) },
        }),
      );
      return digestOf(sealed);
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

/** Hangs a thousand files behind the tag of leases, none of which is a lease. */
const hangJunk = ({ blobs, tags }: RegistryServer): void => {
  const put = (bytes: Buffer) => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { digest, size: bytes.byteLength };
  };
  const layers = Array.from({ length: 1000 }, (_, n) =>
    toDescriptor({
      role: 'lease',
      ...put(Buffer.from(`junk ${n}`)),
      mediaType: ROOT_JSON,
      version: n,
      ...CHANNEL,
    }),
  );
  const config = { mediaType: OCI_EMPTY, ...put(Buffer.from('{}')) };
  const manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: LEASE_ARTIFACT,
    config,
    layers,
  } as const;
  const { bytes, descriptor } = encodeManifest(manifest);
  blobs.set(descriptor.digest, bytes);
  tags.set(LEASE_TAG, descriptor.digest);
};

/** Twenty polls at which nothing is new: what they asked for and wrote. */
const idle = async ({ server, poll, writes }: Online) => {
  const before = writes();
  server.asked.length = 0;
  for (let round = 0; round < 20; round++) expect(await poll()).toBeUndefined();
  return { asked: [...new Set(server.asked)], requests: server.asked.length, written: writes() - before };
};

const IDLE = {
  asked: [
    'HEAD /v2/fleet/prod/factory-host/manifests/release',
    'HEAD /v2/fleet/prod/factory-host/manifests/lease',
    'HEAD /v2/fleet/sites/plant-7/manifests/site',
    'HEAD /v2/fleet/sites/plant-7/manifests/receipts',
  ],
  requests: 80,
  written: 0,
};

describe('an agent with leases and secrets behind a registry', () => {
  test('sends at most one HEAD for each blob', async () => {
    await using made = await online();
    await made.publish(1);
    await made.poll();
    const heads = made.server.asked.filter((line) => /^HEAD .*sha256:/.test(line));
    expect(heads.length).toBeGreaterThan(0);
    expect(heads).toEqual([...new Set(heads)]);
  });

  test('reads a manifest, a document or a blob with one request', async () => {
    await using made = await online();
    await made.publish(1);
    await using registry = made.server.open();
    const { source } = await readRegistryOffer(made.it.agent, registry);
    const release = made.server.tags.get(RELEASE_TAG) as Digest;
    made.server.asked.length = 0;
    await readManifest(source.blobs, release);
    expect(made.server.asked).toEqual([`GET /v2/fleet/prod/factory-host/manifests/${release}`]);
  });

  test('asks for each tag, and writes nothing, while nothing is new', async () => {
    await using made = await online();
    await made.publish(1);
    expect(await made.poll()).toMatchObject({ news: 'newer' });
    expect(await idle(made)).toEqual(IDLE);
  });

  test('M18: takes a release beside a thousand junk leases, and looks at those once', async () => {
    await using made = await online();
    await made.publish(1);
    hangJunk(made.server);
    expect(await made.poll()).toMatchObject({ release: { version: 1 }, news: 'newer' });
    expect(await made.it.read('/opt/app')).toBe('app 1');
    expect(await idle(made)).toEqual(IDLE);
    await made.publish(2);
    expect(await made.poll()).toMatchObject({ release: { version: 2 } });
    expect(readFloors(made.it.agent.state)).toMatchObject({ release: 2, lease: 2 });
  });

  test('M18: keeps its lease when the tag moves back to an older one, or is gone', async () => {
    await using made = await online();
    await made.publish(1);
    const old = made.server.tags.get(LEASE_TAG) as Digest;
    await made.publish(2);
    await made.poll();
    made.server.tags.set(LEASE_TAG, old);
    expect(await made.poll()).toMatchObject({ release: { version: 2 }, skippedLeases: 1 });
    expect(await idle(made)).toEqual(IDLE);
    made.server.tags.delete(LEASE_TAG);
    expect(await made.poll()).toBeUndefined();
    expect(readFloors(made.it.agent.state)).toMatchObject({ release: 2, lease: 2 });
  });

  test('refuses a site statement whose secrets the registry lost, keeps the state, and accepts it when they are back', async () => {
    await using made = await online();
    const { it, server } = made;
    await made.publish(1, 'one');
    await made.poll();
    const lost = await made.publish(2, 'two');
    const bytes = server.blobs.get(lost) as Buffer;
    server.blobs.delete(lost);
    for (let round = 0; round < 3; round++) expect(await verdict(() => made.poll())).toBe('MISSING_BLOB');
    const told = it.events().map(({ type, code }) => (code ? `${type} ${code}` : type));
    expect(told.filter((line) => line.startsWith('refused'))).toEqual(['refused MISSING_BLOB']);
    expect(readFloors(it.agent.state)).toMatchObject({ site: 1, release: 1 });
    expect(readSecretSets(it.agent.state)).toHaveLength(1);
    expect(await it.read('/run/app/password')).toBe('one');
    server.blobs.set(lost, bytes);
    expect(await made.poll()).toMatchObject({ release: { version: 2 } });
    expect(await it.read('/run/app/password')).toBe('two');
  });

  test('M18: an older release behind the tag is refused, told once, and forgets nothing', async () => {
    await using made = await online();
    await made.publish(1);
    const old = made.server.tags.get(RELEASE_TAG) as Digest;
    await made.publish(2);
    await made.poll();
    made.server.tags.set(RELEASE_TAG, old);
    for (let round = 0; round < 3; round++) expect(await verdict(() => made.poll())).toBe('ROLLBACK');
    expect(await made.it.read('/opt/app')).toBe('app 2');
    expect(made.it.events().filter(({ type }) => type === 'refused')).toHaveLength(1);
  });
});
