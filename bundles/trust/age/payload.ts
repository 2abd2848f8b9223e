import { hkdfSync } from 'node:crypto';

/**
 * The payload of an age file (C2SP age.md, "Payload"): ChaCha20-Poly1305 over chunks of 64 KiB, each under its number and
 * whether it is the last. Uses node:crypto: the library's own code takes ten times as long.
 */
export const CIPHER = 'chacha20-poly1305';
export const CHUNK = 64 << 10;
export const TAG = 16;
export const NONCE = 16;

/** A header names every recipient in about a hundred bytes: ten thousand of them. */
export const MAX_HEADER_BYTES = 1 << 20;

export const payloadKey = (fileKey: Uint8Array, nonce: Uint8Array): Buffer =>
  Buffer.from(hkdfSync('sha256', fileKey, nonce, 'payload', 32));

/** Eleven bytes of the chunk's number, big endian, and one that is 1 for the last. */
export const chunkNonce = (index: number, last: boolean): Buffer => {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(index, 5, 6);
  nonce[11] = last ? 1 : 0;
  return nonce;
};

/** Number of chunks of `plain` bytes of content. Only empty content has an empty chunk. */
export const chunksOf = (plain: number): number => Math.max(1, Math.ceil(plain / CHUNK));
