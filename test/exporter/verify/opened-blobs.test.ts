import { expect, it } from 'vitest';
import { readBlob } from '#bundles/formats/layout/verified';
import { openedBlobs } from '../../../exporter/verify/verify-medium.ts';
import { blobsInMemory } from '../../bundles/blobs-in-memory.ts';
import { byOneQuestion } from '../../bundles/formats/layout/one-question.ts';

it('openedBlobs records each blob that was read, from any kind of source', async () => {
  const memory = blobsInMemory();
  const [read] = [memory.put('read'), memory.put('not read')];
  for (const source of [memory, byOneQuestion(memory)]) {
    const blobs = openedBlobs(source);
    await readBlob(blobs, read, 100);
    expect([...blobs.opened]).toEqual([read]);
  }
});
