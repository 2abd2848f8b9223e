import type { BlobSource } from '#bundles/layout/blobs';

/** The same blobs; whoever watches is told how many bytes were read of them. */
export const countedBlobs = <S extends Pick<BlobSource, 'open'>>(
  blobs: S,
  onBytes: (bytes: number) => void,
): S => ({
  ...blobs,
  get: undefined,
  open: async (digest, signal, buffers) => counted(await blobs.open(digest, signal, buffers), onBytes),
});

async function* counted(
  content: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    yield chunk;
    onBytes(chunk.byteLength);
  }
}
