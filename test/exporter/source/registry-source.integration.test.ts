import { afterAll, beforeAll, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { addDays } from '#bundles/time';
import { openDestination } from '../../../scheduler/deliver/send/open-destination.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type FaultyRegistry, startFaultyRegistry } from '../../harness/neighbours/faulty-registry.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { GATE, KIOSK, makeKioskWorld, type World } from '../world.ts';

const IMAGES = 10;

describeWith(['dockerRegistry'], 'an export from a registry', ({ dockerRegistry }) => {
  let world: World;
  let registry: Registry;
  let line: FaultyRegistry;

  beforeAll(async () => {
    world = await makeKioskWorld();
    registry = await startRegistry(dockerRegistry);
    line = await startFaultyRegistry(registry.host);
    const images = Array.from({ length: IMAGES }, (_, at) => ({
      name: `web-${at}`,
      layers: [Buffer.alloc(50_000, 'base'), Buffer.alloc(700, `image ${at}`)],
    }));
    const packages = { web: { 'app.yaml': 'text: two\n' } };
    const issuedAt = addDays(NOW, -1);
    for (const channel of [KIOSK, GATE])
      await world.layout.release({
        channel,
        version: 2,
        bundles: [{ kind: 'kubernetes', packages, images }],
        issuedAt,
      });
    await world.layout.lease({ channel: KIOSK, version: 3 });
    await world.layout.receipts('plant-7', [{ agent: 'plant-7/line-1', from: 1, to: 4 }]);
    const options = { plainHttp: [], env: {} };
    await using destination = await openDestination(`oci://${registry.host}/fleet`, options, NOW);
    const { signal } = new AbortController();
    const layout = await openLayout(world.path('layout'));
    const sent = await publishLayout(layout, destination, { selection: {}, now: NOW, signal });
    expect(sent.flatMap(({ error }) => error ?? [])).toEqual([]);
  });
  afterAll(async () => {
    await line?.[Symbol.asyncDispose]();
    await registry?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** What a plan asks for, and what is planned. */
  const asked = async (order: Parameters<World['plan']>[0]) => {
    line.asked.length = 0;
    const { plan } = await world.plan({ from: `oci://${line.host}/fleet`, ...order });
    return { plan, lines: [...line.asked] };
  };
  const about = (lines: readonly string[], digest: string) => lines.filter((one) => one.endsWith(digest));

  it('planning from a registry requests each manifest once, from its repository', async () => {
    const { plan, lines } = await asked({ channels: [KIOSK] });
    const manifests = plan.blobs.filter(({ rank }) => rank === 'manifest');
    expect(manifests).toHaveLength(1 + IMAGES);
    for (const { digest } of manifests)
      expect(about(lines, digest)).toEqual([`GET /v2/fleet/prod/kiosk/manifests/${digest}`]);
  });

  it('planning from a registry requests no digest twice', async () => {
    for (const order of [
      { channels: [KIOSK] },
      { channels: [KIOSK, GATE] },
      { sites: ['plant-7'] },
      { sites: ['plant-7'], channels: [KIOSK, GATE], bases: ['site:plant-7'] },
    ]) {
      const { plan, lines } = await asked(order);
      const digests = lines.flatMap((one) => /sha256:[0-9a-f]{64}$/.exec(one) ?? []);
      expect(digests.toSorted()).toEqual([...new Set(digests)].toSorted());
      // All that is copied was looked for or read; a release that hangs on its tag is read by that.
      const named = new Set<string>(digests);
      expect(plan.blobs.filter(({ digest }) => !named.has(digest))).toEqual([]);
      const tags = lines.filter((one) => !/sha256:/.test(one));
      expect(tags.toSorted()).toEqual([...new Set(tags)].toSorted());
      expect(tags.every((one) => one.startsWith('GET '))).toBe(true);
    }
  });

  it('planning from a registry reads no layer', async () => {
    const { plan, lines } = await asked({ channels: [KIOSK] });
    const layers = plan.blobs.filter(({ size }) => size === 50_000 || size === 700);
    expect(layers).toHaveLength(1 + IMAGES);
    for (const { digest } of layers)
      expect(about(lines, digest)).toEqual([`HEAD /v2/fleet/prod/kiosk/blobs/${digest}`]);
  });

  it('planning from a registry results in the same plan as from the published folder', async () => {
    const { plan } = await asked({ channels: [KIOSK, GATE], sites: ['plant-7'] });
    const { plan: expected } = await world.plan({ channels: [KIOSK, GATE], sites: ['plant-7'] });
    expect(plan).toEqual(expected);
  });

  it('planning from a registry names a missing layer or manifest before anything is copied', async () => {
    const { plan } = await asked({ channels: [KIOSK] });
    const layer = plan.blobs.find(({ size }) => size === 700);
    const image = plan.blobs.findLast(({ rank }) => rank === 'manifest');
    for (const { digest } of [layer, image].filter((it) => it !== undefined)) {
      line.fault = (one) => (one.endsWith(digest) ? { kind: 'answer', status: 404 } : undefined);
      await expect(asked({ channels: [KIOSK] })).rejects.toMatchObject({
        code: 'MISSING_BLOB',
        subject: digest,
        message: `oci://${line.host}/fleet lacks a blob that prod/kiosk needs`,
      });
      line.fault = undefined;
    }
  });

  it('planning from a registry refuses a document or manifest whose digest differs', async () => {
    const { plan } = await asked({ channels: [KIOSK] });
    const read = plan.blobs.filter(({ rank }) => rank === 'manifest' || rank === 'document');
    expect(read.length).toBeGreaterThan(IMAGES + 5);
    const needed = ['release', 'bundle', 'root', 'revocations'];
    const documents = plan.medium.documents.filter(({ role }) => needed.includes(role));
    for (const { digest } of [...documents, ...read.filter(({ rank }) => rank === 'manifest')]) {
      line.fault = (one) => (one.startsWith('GET') && one.endsWith(digest) ? { kind: 'flip' } : undefined);
      await expect(asked({ channels: [KIOSK] })).rejects.toMatchObject({
        code: 'DIGEST_MISMATCH',
        subject: digest,
      });
      line.fault = undefined;
    }
  });
});
