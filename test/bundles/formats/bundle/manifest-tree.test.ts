import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readManifestTree } from '#bundles/formats/bundle/manifest-tree';
import { reachedBlobs, reachedIn } from '#bundles/formats/bundle/reached-blobs';
import { type Digest, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { blobsInMemory } from '../../blobs-in-memory.ts';

const descriptorOf = (text: string, mediaType: string) => ({
  mediaType,
  digest: digestOf(text),
  size: Buffer.byteLength(text),
});

/** So many images, each behind an index. */
const makeImages = (count: number) => {
  const blobs = blobsInMemory();
  const images = Array.from({ length: count }, (_, at) => {
    const config = descriptorOf(`config ${at}`, 'config');
    const image = JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers: [] });
    const index = JSON.stringify({ schemaVersion: 2, manifests: [descriptorOf(image, OCI_MANIFEST)] });
    for (const text of [image, index]) blobs.put(text);
    return descriptorOf(index, OCI_INDEX);
  });
  return { blobs, images };
};

/** The same, each a while away; how many were on their way at once. */
const farAway = (blobs: BlobSource) => {
  const seen = { most: 0, reads: [] as Digest[] };
  let underWay = 0;
  const source: BlobSource = {
    ...blobs,
    open: async (digest) => {
      seen.reads.push(digest);
      seen.most = Math.max(seen.most, (underWay += 1));
      await setImmediate();
      underWay -= 1;
      return blobs.open(digest);
    },
  };
  return { source, seen };
};

const what = (digest: Digest): string => `image ${digest}`;

describe('the manifests of many images', () => {
  it('are read eight at a time, and each once', async () => {
    const { blobs, images } = makeImages(20);
    const { source, seen } = farAway(blobs);
    const tree = await readManifestTree(source, [...images, ...images], what);
    expect(tree.size).toBe(40);
    expect(seen.most).toBe(8);
    expect(seen.reads.toSorted()).toEqual([...tree.keys()].toSorted());
  });

  it('give the same list in the same order, for any order of arrival', async () => {
    const { blobs, images } = makeImages(20);
    const late: BlobSource = {
      ...blobs,
      open: async (digest) => {
        if (digest === images[0]?.digest) for (let turn = 0; turn < 20; turn += 1) await setImmediate();
        return blobs.open(digest);
      },
    };
    expect([...(await reachedBlobs(late, images, what))]).toEqual([
      ...(await reachedBlobs(blobs, images, what)),
    ]);
  });

  it('stop being read after the first that is invalid', async () => {
    const { blobs, images } = makeImages(40);
    const [first] = images;
    blobs.content.set(first?.digest ?? digestOf(''), Buffer.alloc(first?.size ?? 0));
    const { source, seen } = farAway(blobs);
    await expect(readManifestTree(source, images, what)).rejects.toMatchObject({
      code: 'DIGEST_MISMATCH',
      subject: first?.digest,
    });
    expect(seen.reads.length).toBeLessThan(20);
  });

  it('may be nested 30,000 deep without recursion', () => {
    const levels = Array.from({ length: 30_000 }, (_, at) => descriptorOf(`index ${at}`, OCI_INDEX));
    const tree = new Map(levels.map(({ digest }, at) => [digest, levels.slice(at + 1, at + 2)]));
    expect([...reachedIn(tree, levels.slice(0, 1)).keys()]).toEqual(levels.map(({ digest }) => digest));
  });
});
