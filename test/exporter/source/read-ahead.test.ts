import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';
import type { OfferedDocument } from '../../../exporter/source/offer.ts';
import { readAhead } from '../../../exporter/source/read-ahead.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';

const offered = (text: string, size = Buffer.byteLength(text)): OfferedDocument => ({
  document: { role: 'receipt', digest: digestOf(text), size, mediaType: 'text/plain' },
  repository: 'sites/plant-7',
});

/** A registry that is a while away. */
const makeSource = (texts: readonly string[]) => {
  const memory = blobsInMemory();
  for (const text of texts) memory.put(text);
  const seen = { most: 0, reads: [] as Digest[] };
  let underWay = 0;
  const blobs: BlobSource = {
    ...memory,
    open: async (digest) => {
      seen.reads.push(digest);
      seen.most = Math.max(seen.most, (underWay += 1));
      await setImmediate();
      underWay -= 1;
      return memory.open(digest);
    },
  };
  return { memory, blobs, seen };
};

const TEXTS = Array.from({ length: 20 }, (_, at) => `receipt ${at}`);

describe('readAhead', () => {
  it('reads several documents at a time, each once', async () => {
    const { blobs, seen } = makeSource(TEXTS);
    const documents = TEXTS.map((text) => offered(text));
    await readAhead(() => blobs, [...documents, ...documents]);
    expect(seen.most).toBe(8);
    expect(seen.reads).toEqual(TEXTS.map((text) => digestOf(text)));
  });

  it('ignores documents that are missing or wrong, which their later reader refuses', async () => {
    const { blobs, memory, seen } = makeSource(TEXTS);
    memory.content.set(digestOf('receipt 3'), Buffer.from('receipt X'));
    memory.content.delete(digestOf('receipt 5'));
    await readAhead(
      () => blobs,
      TEXTS.map((text, at) => offered(text, at === 7 ? 2 : undefined)),
    );
    expect(seen.reads).toHaveLength(TEXTS.length - 2);
  });

  it('skips large documents, and documents beyond a total size', async () => {
    const { blobs, seen } = makeSource(['small']);
    const many = Array.from({ length: 3000 }, (_, at) => offered(`statement ${at}`, 64 << 10));
    await readAhead(() => blobs, [offered('small'), offered('large', 1 << 20)]);
    expect(seen.reads).toEqual([digestOf('small')]);
    let asked = 0;
    const counting: BlobSource = {
      name: 'registry',
      size: async () => {
        asked += 1;
        return undefined;
      },
      open: async (digest) => Promise.reject(missingBlob(digest, 'registry')),
    };
    await readAhead(() => counting, many);
    expect(asked).toBe(512);
  });

  it('stops when the network fails and when it is aborted', async () => {
    const gone: BlobSource = {
      name: 'registry',
      size: async () => Promise.reject(new FleetError('REGISTRY_UNREACHABLE', 'it is gone')),
      open: async (digest) => Promise.reject(missingBlob(digest, 'registry')),
    };
    const documents = TEXTS.map((text) => offered(text));
    await expect(readAhead(() => gone, documents)).rejects.toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    const { blobs, seen } = makeSource(TEXTS);
    await expect(readAhead(() => blobs, documents, AbortSignal.abort())).rejects.toThrow('aborted');
    expect(seen.reads).toEqual([]);
  });
});
