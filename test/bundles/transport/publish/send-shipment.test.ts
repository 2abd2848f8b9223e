import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openCarrier } from '#bundles/transport/publish/carrier';
import type { Shelf } from '#bundles/transport/publish/destination';
import { sendStages } from '#bundles/transport/publish/send-shipment';
import type { Parcel } from '#bundles/transport/publish/shipment';

const MEDIA_TYPE = 'application/vnd.oci.image.manifest.v1+json';

const parcel = (tag: string): Parcel => {
  const [bytes, blob] = [Buffer.from(tag), Buffer.from(`blob of ${tag}`)];
  return {
    tag,
    bytes,
    descriptor: { mediaType: MEDIA_TYPE, digest: digestOf(bytes), size: bytes.byteLength },
    blobs: [{ mediaType: 'application/octet-stream', digest: digestOf(blob), size: blob.byteLength }],
  };
};

/** A repository in which the first stage's blob takes long. */
const slowShelf = (slow: Parcel) => {
  const done: string[] = [];
  const shelf: Pick<Shelf, 'name' | 'resolve' | 'pushBlob' | 'pushManifest'> = {
    name: 'a repository',
    resolve: async () => undefined,
    pushBlob: async ({ digest }) => {
      if (digest === slow.blobs[0]?.digest) for (let turns = 0; turns < 20; turns += 1) await turn();
      done.push('blob');
      return 'uploaded';
    },
    pushManifest: async (tag) => {
      done.push(tag);
    },
  };
  return { shelf: shelf as Shelf, done };
};

describe('parcels by layers of need', () => {
  it.each([
    [['one'], ['two'], ['three']],
    [['one'], [], ['three']],
    [[], ['one'], [], [], ['two', 'three']],
  ])(
    'have their blobs side by side and their manifests one layer after the other: %j, %j, %j',
    async (...stages) => {
      const one = parcel('one');
      const { shelf, done } = slowShelf(one);
      const carrier = openCarrier({
        name: 'none',
        size: async () => undefined,
        open: () => Promise.reject(),
      });
      const parcels = stages.map((tags) => tags.map((tag) => (tag === 'one' ? one : parcel(tag))));
      const { signal } = new AbortController();
      await sendStages('prod/edge', parcels, { shelf, carrier, hasReferrers: false, repair: false, signal });
      const manifests = done.filter((what) => what !== 'blob');
      expect(manifests).toEqual(stages.flat());
      expect(done.lastIndexOf('blob')).toBeLessThan(done.indexOf('one'));
    },
  );
});
