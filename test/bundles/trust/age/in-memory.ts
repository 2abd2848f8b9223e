import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { FleetError } from '#bundles/errors';

/** @param most bytes that one read gives, as a pipe or a network would */
export const inMemory = (bytes: Uint8Array, most = Number.MAX_SAFE_INTEGER): RandomAccess => ({
  size: bytes.byteLength,
  read: async (buffer, offset, length, position) => {
    const found = bytes.subarray(position, position + Math.min(length, most));
    buffer.set(found, offset);
    return { bytesRead: found.byteLength };
  },
  [Symbol.asyncDispose]: async () => {},
});

export const readAll = async (source: RandomAccess, step = 100_000): Promise<Buffer> => {
  const buffer = Buffer.alloc(step);
  const pieces: Buffer[] = [];
  for (let position = 0; ; ) {
    const { bytesRead } = await source.read(buffer, 0, step, position);
    if (bytesRead === 0) return Buffer.concat(pieces);
    pieces.push(Buffer.from(buffer.subarray(0, bytesRead)));
    position += bytesRead;
  }
};

/** In pieces of `step` bytes. */
export async function* piecesOf(bytes: Uint8Array, step = 50_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += step) yield bytes.subarray(at, at + step);
}

export const collect = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(content));

/** Bytes of which no two places look alike. */
export const content = (size: number): Buffer => {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE(Math.imul(at + 1, 2654435761) >>> 0, at);
  return bytes;
};

export const refusal = async (work: () => Promise<unknown>): Promise<FleetError> => {
  const error: unknown = await work().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof FleetError) return error;
  throw new Error('it was not refused', { cause: error });
};
