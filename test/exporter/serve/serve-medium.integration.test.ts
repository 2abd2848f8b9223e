import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { readServedContent, type ServedSelection } from '../../../exporter/serve/read-served-content.ts';
import { registryHandler } from '../../../exporter/serve/registry-handler.ts';
import type { ServedContent } from '../../../exporter/serve/served-content.ts';
import { startServer } from '../../../exporter/serve/start-server.ts';
import { newFleet } from '../../harness/fleets/signed-fleet.ts';
import { bundleOf, GATE, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { fillForm } from '../write/fill-form.ts';

const ORDER: ServedSelection = {
  selection: {},
  pinned: undefined,
  imagesAt: '',
  signal: new AbortController().signal,
};

let world: World & { readonly first: Digest };
const cleanup = new AsyncDisposableStack();
let medium: OpenMedium;
let served: ServedContent;
let url: string;
const broken: unknown[] = [];

/** The layer of 50,000 bytes. */
const BIG = digestOf(Buffer.alloc(50_000, 'base'));

const start = async (from: ServedContent, imagesAt = ''): Promise<string> => {
  const handler = registryHandler(from, { imagesAt, onBroken: (error) => broken.push(error) });
  const listen = { host: '127.0.0.1', port: 0, loopback: true };
  return cleanup.use(await startServer({ listen, tls: undefined }, handler)).url;
};

beforeAll(async () => {
  world = await makeKioskWorld();
  cleanup.use(world);
  await world.export('medium', { sites: ['plant-7'] });
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
  await world.export('delta', { bases: [world.path('medium')] });
  await world.layout.release({
    channel: GATE,
    version: 1,
    bundles: [{ kind: 'host', packages: { gate: { 'gate.conf': 'open=1' } } }],
  });
  await world.export('both', { bases: [world.path('medium')] });
  medium = cleanup.use(await openMedium(world.path('medium')));
  served = await readServedContent(medium, ORDER);
  url = await start(served);
});
afterAll(() => cleanup.disposeAsync());

const get = (path: string, init: RequestInit = {}): Promise<Response> => fetch(`${url}${path}`, init);
const json = async <T>(path: string): Promise<T> => (await (await get(path)).json()) as T;
const imageTag = async (): Promise<string> =>
  (await json<{ tags: string[] }>('/v2/registry.test/web/tags/list')).tags[0] ?? '';

describe('a medium as a registry', () => {
  test('lists the tags to which the signed statements lead, and no others', async () => {
    expect((await get('/v2/')).status).toBe(200);
    expect(await json('/v2/_catalog')).toEqual({
      repositories: ['prod/kiosk', 'registry.test/web', 'sites/plant-7'],
    });
    const { tags } = await json<{ tags: string[] }>('/v2/prod/kiosk/tags/list');
    const shape = tags.map((tag) => tag.replace(/-[0-9a-f]{64}$/, '-*'));
    expect(shape).toEqual(['b-*', 'bundle', 'i-*', 'r-*', 'release', 's-*']);
    expect(tags[0]).toBe(`b-${hexOf(world.first)}`);
  });

  test('answers manifests by tag and by digest, and their HEAD', async () => {
    const tag = await imageTag();
    const byTag = await get(`/v2/registry.test/web/manifests/${tag}`);
    const bytes = Buffer.from(await byTag.arrayBuffer());
    const digest = digestOf(bytes);
    expect(tag).toBe(`i-${hexOf(digest)}`);
    expect(byTag.headers.get('docker-content-digest')).toBe(digest);
    expect(byTag.headers.get('content-type')).toBe('application/vnd.oci.image.manifest.v1+json');
    const head = await get(`/v2/registry.test/web/manifests/${digest}`, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(bytes.byteLength)]);
  });

  test('answers containerd, which names the registry in "ns"', async () => {
    const tag = await imageTag();
    expect((await get(`/v2/web/manifests/${tag}?ns=registry.test`)).status).toBe(200);
    expect((await get(`/v2/web/manifests/${tag}?ns=other.test`)).status).toBe(404);
    expect((await get(`/v2/web/manifests/${tag}`)).status).toBe(404);
  });

  test('serves images below a path if one is given', async () => {
    const other = await readServedContent(medium, { ...ORDER, imagesAt: 'mirror/of' });
    const at = await start(other, 'mirror/of');
    const tag = await imageTag();
    expect((await fetch(`${at}/v2/mirror/of/registry.test/web/manifests/${tag}`)).status).toBe(200);
    expect((await fetch(`${at}/v2/web/manifests/${tag}?ns=registry.test`)).status).toBe(200);
    expect((await fetch(`${at}/v2/registry.test/web/manifests/${tag}`)).status).toBe(404);
  });

  test('answers blobs as a whole and in ranges', async () => {
    const path = `/v2/registry.test/web/blobs/${BIG}`;
    const whole = Buffer.from(await (await get(path)).arrayBuffer());
    expect(digestOf(whole)).toBe(BIG);
    const head = await get(path, { method: 'HEAD' });
    expect([head.headers.get('content-length'), head.headers.get('accept-ranges')]).toEqual([
      '50000',
      'bytes',
    ]);
    for (const [range, start, end] of [
      ['bytes=0-0', 0, 0],
      ['bytes=10-19', 10, 19],
      ['bytes=49990-', 49_990, 49_999],
      ['bytes=-7', 49_993, 49_999],
      ['bytes=100-999999', 100, 49_999],
    ] as const) {
      const answer = await get(path, { headers: { range } });
      expect([answer.status, answer.headers.get('content-range')]).toEqual([
        206,
        `bytes ${start}-${end}/50000`,
      ]);
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(whole.subarray(start, end + 1));
    }
    const beyond = await get(path, { headers: { range: 'bytes=50000-' } });
    expect([beyond.status, beyond.headers.get('content-range')]).toEqual([416, 'bytes */50000']);
    for (const range of ['bytes=9-3', 'lines=1-2', 'bytes=0-1,5-6', 'bytes=-'])
      expect((await get(path, { headers: { range } })).status).toBe(200);
  });

  test('lists referrers, filtered by artifact type on request', async () => {
    const path = `/v2/prod/kiosk/referrers/${world.first}`;
    const { manifests } = await json<{ manifests: Descriptor[] }>(path);
    expect(manifests).toHaveLength(1);
    const type = manifests[0]?.artifactType ?? '';
    const same = await get(`${path}?artifactType=${encodeURIComponent(type)}`);
    expect(same.headers.get('oci-filters-applied')).toBe('artifactType');
    expect(((await same.json()) as { manifests: unknown[] }).manifests).toHaveLength(1);
    expect(await json(`${path}?artifactType=other`)).toMatchObject({ manifests: [] });
    expect(await json(`/v2/prod/kiosk/referrers/${BIG}`)).toMatchObject({ manifests: [] });
  });

  test('lists tags in pages', async () => {
    const all = (await json<{ tags: string[] }>('/v2/prod/kiosk/tags/list')).tags;
    const found: string[] = [];
    let next: string | undefined = '/v2/prod/kiosk/tags/list?n=2';
    while (next) {
      const page: Response = await get(next);
      found.push(...((await page.json()) as { tags: string[] }).tags);
      next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
    }
    expect(found).toEqual(all);
    expect((await json<{ tags: string[] }>('/v2/prod/kiosk/tags/list?last=c')).tags).toEqual(
      all.filter((tag) => tag > 'c'),
    );
    expect((await json<{ tags: string[] }>('/v2/prod/kiosk/tags/list?n=0')).tags).toEqual([]);
  });

  test('refuses to be written to', async () => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      const answer = await get('/v2/prod/kiosk/blobs/uploads/', { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await answer.json()).toMatchObject({ errors: [{ code: 'UNSUPPORTED' }] });
    }
  });

  test('answers missing content with the error codes of the API', async () => {
    const none = `sha256:${'0'.repeat(64)}`;
    for (const [path, status, code] of [
      ['/v2/nobody/tags/list', 404, 'NAME_UNKNOWN'],
      ['/v2/prod/kiosk/manifests/nothing', 404, 'MANIFEST_UNKNOWN'],
      [`/v2/prod/kiosk/manifests/${none}`, 404, 'MANIFEST_UNKNOWN'],
      [`/v2/prod/kiosk/blobs/${none}`, 404, 'BLOB_UNKNOWN'],
      ['/v2/prod/kiosk/blobs/sha256:12', 400, 'DIGEST_INVALID'],
      ['/v2/prod/kiosk/manifests/sha512:12', 400, 'DIGEST_INVALID'],
      ['/v2/%ff/tags/list', 404, 'NAME_UNKNOWN'],
      ['/elsewhere', 404, 'NAME_UNKNOWN'],
    ] as const) {
      const answer = await get(path);
      expect([path, answer.status]).toEqual([path, status]);
      expect(await answer.json()).toMatchObject({ errors: [{ code }] });
    }
  });

  test('does not serve a blob of the medium to which no statement leads', async () => {
    const stranger = Buffer.from('what somebody laid there');
    await writeFile(world.path('medium', 'blobs', 'sha256', hexOf(digestOf(stranger))), stranger);
    for (const repository of ['prod/kiosk', 'registry.test/web'])
      expect((await get(`/v2/${repository}/blobs/${digestOf(stranger)}`)).status).toBe(404);
  });

  test('does not serve a channel without its base, and refuses a medium without any other', async () => {
    await using delta = await openMedium(world.path('delta'));
    const error = await readServedContent(delta, ORDER).catch((it: unknown) => it);
    expect(isFleetError(error, 'MISSING_BASE')).toBe(true);
    await using both = await openMedium(world.path('both'));
    const filled = await readServedContent(both, ORDER);
    expect([...filled.repositories.keys()]).toEqual(['prod/gate']);
    expect(filled.notes).toHaveLength(1);
  });

  test('refuses a root that the medium does not have', async () => {
    const right = digestOf(world.fleet.roots[0] ?? '');
    expect((await readServedContent(medium, { ...ORDER, pinned: right })).root.digest).toBe(right);
    const error = await readServedContent(medium, { ...ORDER, pinned: BIG }).catch((it: unknown) => it);
    expect(isFleetError(error, 'ROOT_UNKNOWN')).toBe(true);
  });
});

test('refuses a medium without signed root or release', async () => {
  await using stranger = await makeKioskWorld(await newFleet());
  for (const [name, change] of [
    ['rootless', (documents: Document[]) => documents.filter(({ role }) => role !== 'root')],
    ['unsigned', (documents: Document[]) => documents.filter(({ role }) => role !== 'release')],
    [
      'foreign',
      (documents: Document[]) =>
        documents.map((one) => (one.role === 'root' ? { ...one, digest: digestOf(rootOf(stranger)) } : one)),
    ],
  ] as const) {
    await world.export(name, { channels: [KIOSK] });
    const file = world.path(name, 'fleet', 'medium.json');
    const medium = JSON.parse(await readFile(file, 'utf8')) as { documents: Document[] };
    await writeFile(file, JSON.stringify({ ...medium, documents: change(medium.documents) }));
    const root = rootOf(stranger);
    await writeFile(world.path(name, 'blobs', 'sha256', hexOf(digestOf(root))), root);
    await using opened = await openMedium(world.path(name));
    const error = await readServedContent(opened, ORDER).catch((it: unknown) => it);
    expect([name, isFleetError(error) && error.code]).toEqual([name, REFUSALS[name]]);
  }
});

const rootOf = ({ fleet }: World): Buffer => fleet.roots[0] ?? Buffer.alloc(0);
const REFUSALS = { rootless: 'ROOT_UNKNOWN', unsigned: 'CHANNEL_MISSING', foreign: 'UNKNOWN_KEY' };

test('serves a set of parts from its parts', async () => {
  await fillForm(world.path('layout'), world.path('set'), 'set');
  await using opened = await openMedium(world.path('set'));
  const at = await start(await readServedContent(opened, { ...ORDER, selection: { channels: [KIOSK] } }));
  const answer = await fetch(`${at}/v2/registry.test/web/blobs/${BIG}`, {
    headers: { range: 'bytes=39990-40010' },
  });
  expect(await answer.bytes()).toHaveLength(21);
  expect(digestOf(await (await fetch(`${at}/v2/registry.test/web/blobs/${BIG}`)).bytes())).toBe(BIG);
});

test('never sends a damaged blob completely, nor any range of it', async () => {
  await world.export('damaged', { channels: [KIOSK] });
  const file = world.path('damaged', 'blobs', 'sha256', hexOf(BIG));
  const bytes = await readFile(file);
  bytes[25_000] = (bytes[25_000] ?? 0) ^ 1;
  await writeFile(file, bytes);
  await using opened = await openMedium(world.path('damaged'));
  const at = await start(await readServedContent(opened, ORDER));
  const path = `${at}/v2/registry.test/web/blobs/${BIG}`;
  broken.length = 0;
  for (const range of [undefined, 'bytes=0-9', 'bytes=40000-']) {
    const answer = await fetch(path, range ? { headers: { range } } : {}).then(
      async (it) => ({
        ok: it.ok,
        digest: createHash('sha256')
          .update(await it.bytes())
          .digest('hex'),
      }),
      () => undefined,
    );
    expect(answer?.ok ?? false).toBe(false);
  }
  expect(broken.map((error) => isFleetError(error, 'DIGEST_MISMATCH'))).toEqual([true, true, true]);
});
