import type { FoundBlob } from '#bundles/layout/blobs';

/** Bytes that are here, as a blob that was found. */
export const inMemory = (bytes: Uint8Array): FoundBlob => ({
  size: bytes.byteLength,
  open: async () => one(bytes),
  drop: async () => {},
});

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
