import type { BlobSource } from '#bundles/formats/layout/blobs';

/** The same blobs; `onBytes` receives the number of bytes of each chunk read. */
export const countedBlobs = <S extends Pick<BlobSource, 'open' | 'openFrom'>>(
  blobs: S,
  onBytes: (bytes: number) => void,
): S => {
  const { open, openFrom } = blobs;
  return {
    ...blobs,
    get: undefined,
    open: async (digest, signal) => counted(await open(digest, signal), onBytes),
    openFrom:
      openFrom && (async (digest, from, signal) => counted(await openFrom(digest, from, signal), onBytes)),
  };
};

async function* counted(
  content: AsyncIterable<Uint8Array>,
  onBytes: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    yield chunk;
    onBytes(chunk.byteLength);
  }
}
