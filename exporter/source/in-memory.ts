import type { FoundBlob } from '#bundles/formats/layout/blobs';

/** A found blob whose bytes are in memory. */
export const inMemory = (bytes: Uint8Array): FoundBlob => ({
  size: bytes.byteLength,
  open: async () => one(bytes),
  drop: async () => {},
});

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
