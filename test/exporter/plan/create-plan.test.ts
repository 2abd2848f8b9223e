import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Base } from '#bundles/formats/medium/choose-blobs';
import type { Bases } from '../../../exporter/source/base/base.ts';
import { createPlan } from '../../../exporter/plan/create-plan.ts';
import type { Offer, OfferedBundle } from '../../../exporter/source/offer.ts';
import type { ClosureBlob } from '#bundles/formats/bundle/read-closure';
import { runs } from '../../harness/run/long.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';

const channelOf = (index: number) => ({ environment: 'prod', clusterType: `type-${index}` });

const layer = (id: number): ClosureBlob => ({
  digest: digestOf(`layer ${id}`),
  size: 10 + id,
  mediaType: 'application/vnd.oci.image.layer.v1.tar',
  children: [],
});

/** A bundle of three blobs of its own and an image for each list of layers; layers are shared by their number. */
const bundleOf = (index: number, images: readonly (readonly number[])[]): OfferedBundle => {
  const own = ['manifest', 'config', 'layer'].map((name, at) => ({
    digest: digestOf(`${name} ${index}`),
    size: 3,
    mediaType:
      ['application/vnd.oci.image.manifest.v1+json', 'application/x+json', 'application/x'][at] ?? '',
    children: [],
  }));
  const blobs = images.flatMap((ids): ClosureBlob[] => [
    {
      digest: digestOf(`image ${ids.join()}`),
      size: 2,
      mediaType: OCI_MANIFEST,
      children: ids.map((id) => layer(id).digest),
    },
    ...ids.map(layer),
  ]);
  const closure = [...new Map([...own, ...blobs].map((blob) => [blob.digest, blob])).values()];
  return {
    channel: channelOf(index),
    kind: 'kubernetes',
    digest: own[0]?.digest ?? digestOf(''),
    size: 3,
    closure,
    own: own.map(({ digest }) => digest),
    images: images.map((ids) => digestOf(`image ${ids.join()}`)),
    siteInputs: { schema: {}, fields: [] },
    repository: `prod/type-${index}`,
  };
};

const root = { fleet: 'acme' } as TrustRoot;

const offerOf = (bundles: readonly OfferedBundle[]): Offer => ({
  root,
  documents: [
    {
      document: {
        role: 'root',
        digest: digestOf('root'),
        size: 5,
        mediaType: 'application/json',
        version: 1,
      },
      repository: 'prod/type-0',
    },
  ],
  channels: bundles.map((bundle) => ({
    channel: bundle.channel,
    version: 1,
    expires: '',
    rollout: { percent: 100 },
    bundles: [bundle],
  })),
  sites: [],
  receipts: [],
  leases: [],
  notes: [],
});

const basesOf = (bases: readonly Base[], asked: readonly Digest[] = []): Bases => ({
  bases,
  asked: new Map(asked.map((digest) => [digest, 'plant-7/line-1'])),
  reporters: [],
  readers: [],
  floors: [],
  notes: [],
});

const images = fc.array(fc.uniqueArray(fc.nat(8), { minLength: 1, maxLength: 4 }), { maxLength: 4 });

const worlds = fc.record({
  bundles: fc.array(images, { minLength: 1, maxLength: 3 }),
  holders: fc.array(fc.record({ channel: fc.nat(3), images }), { maxLength: 3 }),
  asked: fc.array(fc.nat(8), { maxLength: 2 }),
});

describe('createPlan', () => {
  it('carries exactly the documents and closures without the assumed blobs, for any bases', () => {
    fc.assert(
      fc.property(worlds, ({ bundles: shapes, holders, asked }) => {
        const bundles = shapes.map((shape, index) => bundleOf(index, shape));
        const bases = holders.map(({ channel, images: held }, index): Base => {
          const before = bundleOf(100 + index, held);
          return {
            name: `holder ${index}`,
            channel: channelOf(channel),
            holds: new Map([[before.digest, new Set(before.closure.map(({ digest }) => digest))]]),
            unknown: [],
          };
        });
        const wanted = asked.map((id) => layer(id).digest);
        const plan = createPlan(offerOf(bundles), basesOf(bases, wanted), NOW);
        const carried = plan.blobs.map(({ digest }) => digest);
        const documents = plan.medium.documents.map(({ digest }) => digest);
        expect(new Set(carried).size).toBe(carried.length);

        const belongs = new Set<Digest>(documents);
        for (const [index, bundle] of bundles.entries()) {
          const assumed = new Set(plan.medium.bundles[index]?.assumed.map(({ digest }) => digest));
          for (const { digest, children } of bundle.closure) {
            if (!assumed.has(digest)) belongs.add(digest);
            expect(assumed.has(digest)).toBe(!carried.includes(digest));
            // Nothing travels whose way from the bundle does not.
            if (children.some((child) => carried.includes(child))) expect(carried).toContain(digest);
            if (wanted.includes(digest)) expect(carried).toContain(digest);
          }
          // What is assumed is held by everybody who was asked about this channel.
          const speakers = bases.filter((base) => base.channel.clusterType === bundle.channel.clusterType);
          for (const digest of assumed) {
            expect(speakers.length).toBeGreaterThan(0);
            for (const { holds } of speakers)
              expect([...holds.values()].some((set) => set.has(digest))).toBe(true);
          }
          expect(carried).toContain(bundle.closure[0]?.digest);
          expect(carried).toContain(bundle.closure[1]?.digest);
        }
        expect(new Set(carried)).toEqual(belongs);
        expect(plan.carried).toBe(plan.blobs.reduce((sum, { size }) => sum + size, 0));
      }),
      { numRuns: runs(200) },
    );
  });

  it('orders documents first, then manifests, configs and layers, each by digest', () => {
    const plan = createPlan(offerOf([bundleOf(0, [[1, 2]]), bundleOf(1, [[2, 3]])]), basesOf([]), NOW);
    const order = ['document', 'manifest', 'config', 'layer'];
    const keys = plan.blobs.map(({ rank, digest }) => `${order.indexOf(rank)} ${digest}`);
    expect(keys).toEqual(keys.toSorted());
    expect(new Set(plan.blobs.map(({ rank }) => rank)).size).toBe(4);
  });

  it('names in index.json only the manifests that are complete on the medium', () => {
    const before = bundleOf(9, [[1, 2]]);
    const base: Base = {
      name: 'site',
      channel: channelOf(0),
      holds: new Map([[before.digest, new Set(before.closure.map(({ digest }) => digest))]]),
      unknown: [],
    };
    const bundle = bundleOf(0, [[1, 2], [2, 3], [4]]);
    const plan = createPlan(offerOf([bundle]), basesOf([base]), NOW);
    const named = plan.index.map(({ digest }) => digest);
    expect(named).toEqual([bundle.digest, digestOf('image 4')]);
  });

  it('depends on the time only in createdAt', () => {
    const offer = offerOf([bundleOf(0, [[1]])]);
    const one = createPlan(offer, basesOf([]), NOW);
    const two = createPlan(offer, basesOf([]), new Date(NOW.getTime() + 5000));
    expect({ ...two.medium, createdAt: one.medium.createdAt }).toEqual(one.medium);
    expect(two.medium.createdAt).toBe('2026-11-21T08:00:05Z');
  });
});
