import { describe, expect, it } from 'vitest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { pushTree } from '#bundles/transport/registry/push-tree';
import type { Repository } from '#bundles/transport/registry/registry';
import { blobsInMemory, type MemoryBlobs } from '../../blobs-in-memory.ts';
import { readAll, thrownBy } from './hostile-server.ts';

/** Keeps what it is given, in order, and refuses a manifest whose parts are not there: what registries do. */
const keeper = (mounts: ReadonlySet<string> = new Set()) => {
  const order: string[] = [];
  const kept = new Map<string, string>();
  let atOnce = 0;
  let most = 0;
  const target: Pick<Repository, 'pushBlob' | 'pushManifest' | 'resolve'> = {
    pushBlob: async ({ digest }, open, options) => {
      if (kept.has(digest)) return 'there';
      if (options?.mountFrom !== undefined && mounts.has(digest)) {
        kept.set(digest, 'mounted');
        return 'mounted';
      }
      most = Math.max(most, ++atOnce);
      await new Promise((resolve) => setTimeout(resolve, 1));
      options?.signal?.throwIfAborted();
      expect(digestOf(await readAll(await open()))).toBe(digest);
      atOnce--;
      order.push(digest);
      kept.set(digest, digest);
      return 'uploaded';
    },
    pushManifest: async (reference, { bytes }) => {
      for (const [digest] of Buffer.from(bytes)
        .toString()
        .matchAll(/sha256:[0-9a-f]{64}/g))
        expect(kept.has(digest)).toBe(true);
      order.push(reference);
      kept.set(digestOf(bytes), reference);
      kept.set(reference, digestOf(bytes));
    },
    resolve: async (reference) => {
      const digest = reference.startsWith('sha256:') ? reference : kept.get(reference);
      return digest !== undefined && kept.has(digest) ? ({ digest } as Descriptor) : undefined;
    },
  };
  return { target: target as Repository, order, kept, most: () => most };
};

const put = (source: MemoryBlobs, mediaType: string, value: unknown): Descriptor => {
  const text = JSON.stringify(value);
  return { mediaType, digest: source.put(text), size: text.length };
};

const image = (source: MemoryBlobs, name: string, layers: number): Descriptor =>
  put(source, OCI_MANIFEST, {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: put(source, 'x/config', { name }),
    layers: Array.from({ length: layers }, (_, at) => put(source, 'x/layer', [at])),
  });

const twoImages = (source: MemoryBlobs): Descriptor =>
  put(source, OCI_INDEX, {
    schemaVersion: 2,
    mediaType: OCI_INDEX,
    manifests: [image(source, 'a', 5), image(source, 'b', 6)],
  });

describe('a tree of manifests', () => {
  it('is sent from its leaves to its root, every blob once, the root under its tag', async () => {
    const source = blobsInMemory();
    const root = twoImages(source);
    const { target, order, kept, most } = keeper();
    const came: string[] = [];
    await pushTree(target, source, root, {
      tag: 'i-1',
      concurrency: 3,
      onBlob: (_blob, how) => came.push(how),
    });
    expect(order.at(-1)).toBe('i-1');
    expect(new Set(order).size).toBe(order.length);
    expect([...source.content.keys()].every((digest) => kept.has(digest))).toBe(true);
    expect(came).toHaveLength(source.content.size);
    expect(most()).toBe(3);
  });

  it('that is published is not written again', async () => {
    const source = blobsInMemory();
    const root = twoImages(source);
    const { target, order } = keeper();
    await pushTree(target, source, root, { tag: 'i-1' });
    const before = order.length;
    const came: string[] = [];
    await pushTree(target, source, root, { tag: 'i-1', onBlob: (_blob, how) => came.push(how) });
    expect(order).toHaveLength(before);
    expect(new Set(came)).toEqual(new Set(['there']));
    await pushTree(target, source, root, { tag: 'i-2' });
    expect(order.slice(before)).toEqual(['i-2']);
  });

  it('is mounted from a neighbouring repository', async () => {
    const source = blobsInMemory();
    const root = image(source, 'a', 2);
    const { target, order } = keeper(new Set(source.content.keys()));
    await pushTree(target, source, root, { mountFrom: 'qa/line' });
    expect(order).toEqual([root.digest]);
  });

  it('that lacks a blob writes neither its manifest nor its tag', async () => {
    const source = blobsInMemory();
    const root = image(source, 'a', 4);
    source.content.delete(digestOf('[2]'));
    const { target, kept } = keeper();
    expect(await thrownBy(() => pushTree(target, source, root, { tag: 't' }))).toMatchObject({
      code: 'MISSING_BLOB',
    });
    expect([kept.has(root.digest), kept.has('t')]).toEqual([false, false]);
  });

  it('a tree with a changed manifest is refused before any upload', async () => {
    const source = blobsInMemory();
    const root = image(source, 'a', 1);
    source.content.set(root.digest, Buffer.from('{}'.padEnd(root.size)));
    const { target, order } = keeper();
    expect(await thrownBy(() => pushTree(target, source, root))).toMatchObject({ code: 'DIGEST_MISMATCH' });
    expect(order).toEqual([]);
  });

  it('nested deeper than the limit is refused: TOO_DEEP', async () => {
    const source = blobsInMemory();
    let root = image(source, 'a', 1);
    for (let depth = 0; depth < 8; depth++)
      root = put(source, OCI_INDEX, { schemaVersion: 2, mediaType: OCI_INDEX, manifests: [root] });
    expect(await thrownBy(() => pushTree(keeper().target, source, root))).toMatchObject({ code: 'TOO_DEEP' });
  });

  it('stops when the signal aborts', async () => {
    const source = blobsInMemory();
    const root = image(source, 'a', 9);
    const { target, order } = keeper();
    const stop = new AbortController();
    const pushing = pushTree(target, source, root, { signal: stop.signal, onBlob: () => stop.abort() });
    expect(await thrownBy(() => pushing)).toMatchObject({ name: 'AbortError' });
    expect(order.length).toBeLessThan(9);
  });
});
