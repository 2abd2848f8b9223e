import { randomBytes } from 'node:crypto';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { type RunExclusively, type Pulled, pullRelease } from '../../../agent/acquire/pull-release.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { readFloors } from '../../../agent/store/trust.ts';
import { packTestBundle, type TestPackage } from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { type Mischief, type RegistryServer, startRegistryServer } from '../registry-server.ts';
import { createWorld, onePackage, storedBlobs, type World } from '../world.ts';

const alone: RunExclusively = (work) => work();

type Online = AsyncDisposable & {
  readonly world: World;
  readonly server: RegistryServer;
  readonly offer: (version: number, packages: readonly TestPackage[]) => Promise<string>;
  /** One poll, and what it leads to. */
  readonly poll: (exclusively?: RunExclusively) => Promise<Pulled | undefined>;
};

const online = async (): Promise<Online> => {
  const stack = new AsyncDisposableStack();
  const world = stack.use(await createWorld());
  const server = stack.use(await startRegistryServer());
  const registry = stack.use(server.open());
  return {
    world,
    server,
    offer: async (version, packages) => {
      const medium = await world.medium({
        release: { version, bundle: packTestBundle(world.fleet, packages) },
      });
      server.publish(medium);
      return medium;
    },
    poll: async (exclusively = alone) => {
      const seen = await pollRegistry(world.agent, registry, true);
      return seen.news ? pullRelease(world.agent, registry, seen, exclusively) : undefined;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
};

const isBlob = (url = ''): boolean => url.includes('/blobs/');
const told = (world: World) =>
  world.events().map(({ type, code }) => (code === undefined ? type : `${type} ${code}`));

describe('a release from a registry', () => {
  it('is accepted as from a medium: same floors, same packages, same event', async () => {
    await using it = await online();
    const medium = await it.offer(1, [onePackage('app', 'one')]);
    expect(await it.poll()).toMatchObject({
      release: { version: 1 },
      news: 'newer',
      selected: true,
      siteVersion: 1,
    });
    await reconcile(it.world.agent);
    await using other = await createWorld(it.world.fleet);
    expect(liveFiles(join(it.world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
    expect(readFloors(it.world.agent.state)).toMatchObject({ root: 1, site: 1, release: 1 });
    expect(told(it.world)).toEqual(['enrolled', 'imported', 'package']);
    expect(await importMedium(it.world.agent, medium)).toMatchObject({ news: 'same', packages: [] });
    expect(told(other)).toEqual(['enrolled']);
  });

  it('is read again with the site statement when that is replaced in between: a release is accepted with the values that were published before it', async () => {
    await using it = await online();
    const { world, server } = it;
    const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
    const later = await world.medium({ release: { version: 1, bundle } }, 2);
    await it.offer(1, [onePackage('app', 'one')]);
    // The office publishes between the two reads of the agent.
    server.mischief = ({ method, url }) => {
      if (method === 'GET' && url?.endsWith('/factory-host/manifests/release') === true) {
        server.mischief = undefined;
        server.publish(later);
      }
      return false;
    };
    expect(await it.poll()).toMatchObject({ release: { version: 1 }, siteVersion: 2 });
    expect(told(world)).toEqual(['enrolled', 'imported']);
  });

  it('costs one HEAD for each tag when nothing is new', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    await it.poll();
    it.server.asked.length = 0;
    expect(await it.poll()).toBeUndefined();
    expect(it.server.asked).toEqual([
      'HEAD /v2/fleet/prod/factory-host/manifests/release',
      'HEAD /v2/fleet/sites/plant-7/manifests/site',
      'HEAD /v2/fleet/sites/plant-7/manifests/receipts',
    ]);
  });

  it('fetches only layers that are not stored', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one'), onePackage('big', 'as ever')]);
    await it.poll();
    await reconcile(it.world.agent);
    const before = await storedBlobs(it.world.agent.state);
    it.server.asked.length = 0;
    await it.offer(2, [onePackage('app', 'two'), onePackage('big', 'as ever')]);
    await it.poll();
    const pulled = it.server.asked.filter((line) => line.startsWith('GET') && isBlob(line));
    for (const digest of before) expect(pulled.join('\n')).not.toContain(digest);
    expect(readFloors(it.world.agent.state).release).toBe(2);
  });

  it('resumes after an interruption without fetching complete blobs again, also when the daemon observes in between', async () => {
    await using it = await online();
    await it.offer(
      1,
      ['a', 'b', 'c', 'd'].map((id) => onePackage(id, `of ${id}`.repeat(50))),
    );
    let left = 3;
    const layers = new Set<string>();
    const cut: Mischief = (request, response) => {
      const large = [...it.server.blobs].find(([digest]) => request.url?.endsWith(digest))?.[1];
      if (request.method !== 'GET' || !isBlob(request.url) || !large || large.byteLength < 200) return false;
      if (large[0] !== 0x1f) return false;
      if (left-- > 0) {
        layers.add(request.url ?? '');
        return false;
      }
      response.destroy();
      return true;
    };
    it.server.mischief = cut;
    await expect(it.poll()).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(layers.size).toBe(3);
    await lookAround(it.world.agent);
    expect(told(it.world)).toEqual(['enrolled']);
    it.server.mischief = undefined;
    it.server.asked.length = 0;
    expect(await it.poll()).toMatchObject({ release: { version: 1 } });
    for (const url of layers) expect(it.server.asked).not.toContain(`GET ${url}`);
    expect(await reconcile(it.world.agent)).toHaveLength(4);
    await collectGarbage(it.world.agent.state);
  });

  it('costs one request for each manifest, document and blob', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one'), onePackage('big', 'x'.repeat(100_000))]);
    it.server.asked.length = 0;
    await it.poll();
    const asked = it.server.asked.filter((line) => line.startsWith('GET '));
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((line, at) => asked.indexOf(line) !== at)).toEqual([]);
  });

  /** A line that carries some bytes of one large blob and is then down until the next poll. */
  const dropping = async (bytes: number) => {
    const it = await online();
    const content = randomBytes(400_000).toString('base64');
    await it.offer(1, [onePackage('app', content)]);
    const [large] = [...it.server.blobs].filter(([, one]) => one.byteLength > 300_000);
    if (!large) throw new Error('no large blob');
    const [digest, blob] = large;
    const sent: [from: number, to: number][] = [];
    let isDown = false;
    it.server.mischief = (request, response) => {
      if (isDown) response.destroy();
      if (isDown || request.method !== 'GET' || !request.url?.endsWith(digest)) return isDown;
      const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
      const to = Math.min(blob.byteLength, from + bytes);
      sent.push([from, to]);
      isDown = to < blob.byteLength;
      response.writeHead(from > 0 ? 206 : 200, {
        'content-length': blob.byteLength - from,
        ...(from > 0 && { 'content-range': `bytes ${from}-${blob.byteLength - 1}/${blob.byteLength}` }),
      });
      response.write(blob.subarray(from, to), () => (isDown ? response.destroy() : response.end()));
      return true;
    };
    const pollUntilDown = async (): Promise<void> => {
      isDown = false;
      await expect(it.poll()).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
      // The daemon looks around and collects garbage between two polls.
      await lookAround(it.world.agent);
      await collectGarbage(it.world.agent.state);
    };
    const pollToEnd = async (): Promise<void> => {
      isDown = false;
      it.server.mischief = undefined;
      it.server.asked.length = 0;
      expect(await it.poll()).toMatchObject({ release: { version: 1 } });
      await reconcile(it.world.agent);
      expect(liveFiles(join(it.world.folder, 'machine'))).toEqual({ '/opt/app': content });
    };
    return {
      it,
      digest,
      blob,
      sent,
      pollUntilDown,
      pollToEnd,
      [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
    };
  };
  const partialsOf = ({ world }: Online): readonly string[] =>
    readdirSync(join(world.agent.state.directory, 'blobs/sha256')).filter((name) =>
      name.startsWith('.part-'),
    );

  it('resumes in the middle of a blob at the next poll, without fetching a byte twice', async () => {
    await using line = await dropping(90_000);
    for (let n = 0; n < 3; n += 1) await line.pollUntilDown();
    expect(line.sent).toEqual([
      [0, 90_000],
      [90_000, 180_000],
      [180_000, 270_000],
    ]);
    const { it, digest } = line;
    await line.pollToEnd();
    expect(it.server.ranges).toEqual([`bytes=270000- ${digest}`]);
    expect(partialsOf(it)).toEqual([]);
  });

  it('fetches a blob again from its start when the stored part is damaged', async () => {
    await using line = await dropping(90_000);
    await line.pollUntilDown();
    const [partial = ''] = partialsOf(line.it);
    const file = join(line.it.world.agent.state.directory, 'blobs/sha256', partial);
    expect(statSync(file).size).toBe(90_000);
    writeFileSync(file, Buffer.alloc(80_000));
    await line.pollToEnd();
  });

  it('drops the part of a blob that a newer release does not need', async () => {
    await using line = await dropping(90_000);
    await line.pollUntilDown();
    const { it } = line;
    expect(partialsOf(it)).toHaveLength(1);
    it.server.mischief = undefined;
    await it.offer(2, [onePackage('app', 'two')]);
    await it.poll();
    await collectGarbage(it.world.agent.state);
    expect(partialsOf(it)).toEqual([]);
  });

  it('follows a changed site statement to another release', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    await it.poll();
    const { key } = it.world.agent.identity;
    const site = {
      site: 'plant-7',
      version: 2,
      agents: [{ name: 'kiosk-1', key, labels: { ring: 'late' } }],
    };
    it.server.publish(await it.world.medium({ site }));
    expect(await it.poll()).toMatchObject({ siteVersion: 2, news: 'same' });
    expect(readFloors(it.world.agent.state)).toMatchObject({ site: 2, release: 1 });
  });

  it('is judged again when a medium was imported during the download', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    const { world } = it;
    const meanwhile: RunExclusively = async (work) => {
      const newer = packTestBundle(world.fleet, [onePackage('app', 'from the stick')]);
      await importMedium(world.agent, await world.medium({ release: { version: 2, bundle: newer } }));
      return work();
    };
    await expect(it.poll(meanwhile)).rejects.toMatchObject({ code: 'ROLLBACK' });
    expect(readFloors(world.agent.state).release).toBe(2);
    expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'from the stick' });
  });
});

describe('a registry that lies', () => {
  const lies: readonly {
    readonly name: string;
    readonly code: string;
    readonly lie: (it: Online) => void;
  }[] = [
    {
      name: 'about the bytes of a layer',
      code: 'DIGEST_MISMATCH',
      lie: ({ server }) => {
        for (const [digest, bytes] of server.blobs)
          if (bytes[0] === 0x1f) server.blobs.set(digest, Buffer.alloc(bytes.length));
      },
    },
    {
      name: 'and has lost a layer',
      code: 'MISSING_BLOB',
      lie: ({ server }) => {
        for (const [digest, bytes] of server.blobs) if (bytes[0] === 0x1f) server.blobs.delete(digest);
      },
    },
    {
      name: 'and has the release of another channel behind the tag',
      code: 'WRONG_CHANNEL',
      lie: ({ server }) => {
        const tag = 'fleet/prod/factory-host:release';
        const genuine = server.blobs.get(server.tags.get(tag) as Digest) as Buffer;
        const other = Buffer.from(
          genuine.toString().replaceAll('"fleet-ferry.environment":"prod"', '"fleet-ferry.environment":"qa"'),
        );
        expect(other.equals(genuine)).toBe(false);
        server.blobs.set(digestOf(other), other);
        server.tags.set(tag, digestOf(other));
      },
    },
    {
      name: 'and names something else as its release',
      code: 'LAYOUT_INVALID',
      lie: ({ server }) => {
        const bytes = Buffer.from('{"schemaVersion":2}');
        server.blobs.set(digestOf(bytes), bytes);
        server.tags.set('fleet/prod/factory-host:release', digestOf(bytes));
      },
    },
  ];

  it.each(lies)('H17: $name changes nothing and is reported once', async ({ code, lie }) => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    await it.poll();
    await reconcile(it.world.agent);
    const events = told(it.world);
    await it.offer(2, [onePackage('app', 'two')]);
    lie(it);
    for (let n = 0; n < 3; n++) await expect(it.poll()).rejects.toMatchObject({ code });
    expect(told(it.world)).toEqual([...events, `refused ${code}`]);
    expect(readFloors(it.world.agent.state).release).toBe(1);
    expect(await reconcile(it.world.agent)).toEqual([]);
  });

  it('H17: by an older release is refused once, and by a forged one again', async () => {
    await using it = await online();
    const { world } = it;
    await it.offer(2, [onePackage('app', 'two')]);
    await it.poll();
    await it.offer(1, [onePackage('app', 'one')]);
    for (let n = 0; n < 3; n++) await expect(it.poll()).rejects.toMatchObject({ code: 'ROLLBACK' });
    const keys = { ...world.fleet.keys, release: world.fleet.keys.bundle };
    await using stranger = await createWorld({ ...world.fleet, keys });
    const forged = packTestBundle(world.fleet, [onePackage('app', 'evil')]);
    it.server.publish(await stranger.medium({ release: { version: 9, bundle: forged } }));
    for (let n = 0; n < 3; n++) await expect(it.poll()).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    expect(told(world)).toEqual(['enrolled', 'imported', 'refused ROLLBACK', 'refused UNKNOWN_KEY']);
  });

  it('or is a login page in its place is out of reach, which is no refusal', async () => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    await it.poll();
    await reconcile(it.world.agent);
    const events = told(it.world);
    it.server.mischief = (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>log in</html>');
      return true;
    };
    await expect(it.poll()).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
    expect(told(it.world)).toEqual(events);
  });

  it.each([
    { name: 'answers 500', answer: 500 },
    { name: 'answers 429', answer: 429 },
    { name: 'cuts every connection', answer: 0 },
  ])('H16: or $name is out of reach, which is no refusal', async ({ answer }) => {
    await using it = await online();
    await it.offer(1, [onePackage('app', 'one')]);
    it.server.mischief = (_, response) => {
      if (answer === 0) response.destroy();
      else response.writeHead(answer, { 'retry-after': '7200' }).end();
      return true;
    };
    await expect(it.poll()).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE', retryable: true });
    expect(told(it.world)).toEqual(['enrolled']);
  });

  it('or without this site or channel is reported: SITE_MISSING, CHANNEL_MISSING', async () => {
    await using it = await online();
    await expect(it.poll()).rejects.toMatchObject({ code: 'SITE_MISSING' });
    it.server.publish(await it.world.medium({}));
    expect(await it.poll()).toMatchObject({ release: undefined, siteVersion: 1 });
    it.server.tags.clear();
    await expect(it.poll()).rejects.toMatchObject({ code: 'CHANNEL_MISSING' });
    expect(told(it.world)).toEqual(['enrolled', 'imported']);
  });
});
