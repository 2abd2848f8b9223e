import { expect, it } from 'vitest';
import { readBlob } from '#bundles/formats/layout/verified';
import { countedBlobs } from '../../../agent/images/counted-blobs.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { byOneQuestion } from '../../bundles/formats/layout/one-question.ts';

it('countedBlobs counts every byte that is read, for each method of the source', async () => {
  const memory = blobsInMemory();
  const digest = memory.put('a manifest');
  for (const source of [memory, byOneQuestion(memory)]) {
    let counted = 0;
    const blobs = countedBlobs(source, (bytes) => {
      counted += bytes;
    });
    await readBlob(blobs, digest, 100);
    expect(counted).toBe(10);
  }
});
