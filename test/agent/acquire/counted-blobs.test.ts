import { expect, it } from 'vitest';
import { readBlob } from '#bundles/layout/verified';
import { countedBlobs } from '../../../agent/acquire/counted-blobs.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { byOneQuestion } from '../../bundles/layout/one-question.ts';

it('every byte that is read is counted, however the source is asked', async () => {
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
