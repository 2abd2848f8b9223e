import type { BlobSource } from '#bundles/formats/layout/blobs';

/**
 * The same blobs, of which one is read at a time, from its first byte to its last: a disk that turns does not seek between two. The next one
 * is read while the disk of the store still writes the one before. A stream takes its turn when its reading begins.
 */
export const readInTurn = (blobs: BlobSource): BlobSource => {
  let turn = Promise.resolve();
  async function* inTurn(content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const before = turn;
    const { promise, resolve } = Promise.withResolvers<void>();
    turn = promise;
    await before;
    try {
      yield* content;
    } finally {
      resolve();
    }
  }
  return {
    name: blobs.name,
    size: blobs.size,
    open: async (digest, signal) => inTurn(await blobs.open(digest, signal)),
  };
};
