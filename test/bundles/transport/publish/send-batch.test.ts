import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openCarrier } from '#bundles/transport/publish/carrier';
import type { TargetRepository } from '#bundles/transport/publish/destination';
import { sendStages } from '#bundles/transport/publish/send-batch';
import type { ManifestUpload } from '#bundles/transport/publish/upload-batch';

const MEDIA_TYPE = 'application/vnd.oci.image.manifest.v1+json';

const upload = (tag: string): ManifestUpload => {
  const [bytes, blob] = [Buffer.from(tag), Buffer.from(`blob of ${tag}`)];
  return {
    tag,
    bytes,
    descriptor: { mediaType: MEDIA_TYPE, digest: digestOf(bytes), size: bytes.byteLength },
    blobs: [{ mediaType: 'application/octet-stream', digest: digestOf(blob), size: blob.byteLength }],
  };
};

/** A repository in which the first stage's blob takes long. */
const slowRepository = (slow: ManifestUpload) => {
  const done: string[] = [];
  const target: Pick<TargetRepository, 'name' | 'resolve' | 'pushBlob' | 'pushManifest'> = {
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
  return { target: target as TargetRepository, done };
};

describe('uploads by layers of need', () => {
  it.each([
    [['one'], ['two'], ['three']],
    [['one'], [], ['three']],
    [[], ['one'], [], [], ['two', 'three']],
  ])('sends blobs in parallel and manifests stage by stage: %j, %j, %j', async (...stages) => {
    const one = upload('one');
    const { target, done } = slowRepository(one);
    const carrier = openCarrier({
      name: 'none',
      size: async () => undefined,
      open: () => Promise.reject(),
    });
    const uploads = stages.map((tags) => tags.map((tag) => (tag === 'one' ? one : upload(tag))));
    const { signal } = new AbortController();
    await sendStages('prod/edge', uploads, { target, carrier, hasReferrers: false, repair: false, signal });
    const manifests = done.filter((what) => what !== 'blob');
    expect(manifests).toEqual(stages.flat());
    expect(done.lastIndexOf('blob')).toBeLessThan(done.indexOf('one'));
  });
});
