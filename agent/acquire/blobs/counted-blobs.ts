import type { BlobSource } from '#bundles/formats/layout/blobs';

/** The same blobs; `onBytes` receives the number of bytes of each chunk read. */
export const countedBlobs = <S extends Pick<BlobSource, 'open'>>(
  blobs: S,
  onBytes: (bytes: number) => void,
): S => ({
  ...blobs,
  get: undefined,
  open: async (digest, signal) => counted(await blobs.open(digest, signal), onBytes),
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
