import type { ByteCursor } from '../../../../bundles/formats/archive/byte-cursor.ts';
import { readTar, type TarLimits } from '../../../../bundles/formats/archive/read-tar.ts';
import { type FleetError, isFleetError } from '../../../../bundles/errors.ts';

/** The bytes as a stream, cut into pieces of the given sizes, over and over. */
export async function* streamOf(bytes: Uint8Array, sizes: readonly number[] = [bytes.length]) {
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

export const collect = async (chunks: AsyncIterable<Uint8Array>): Promise<Buffer> => {
  const parts: Buffer[] = [];
  for await (const chunk of chunks) parts.push(Buffer.from(chunk));
  return Buffer.concat(parts);
};

export type Read = { path: string; size: number; directory: boolean; offset: number; content: string };

/** Every item with its content. */
export const readAll = async (
  bytes: AsyncIterable<Uint8Array> | ByteCursor,
  limits: TarLimits = { maxEntries: 100 },
): Promise<Read[]> => {
  const items: Read[] = [];
  for await (const { content, ...item } of readTar(bytes, limits)) {
    items.push({ ...item, content: (await collect(content)).toString('latin1') });
  }
  return items;
};

/** The code it was refused with, 'ACCEPT' if it was not. Anything but a FleetError is thrown on. */
export const verdict = async (run: () => unknown): Promise<FleetError['code'] | 'ACCEPT'> => {
  try {
    await run();
    return 'ACCEPT';
  } catch (error) {
    if (isFleetError(error)) return error.code;
    throw error;
  }
};
