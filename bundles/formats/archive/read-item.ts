import { FleetError } from '../../errors.ts';
import type { TarItem } from './read-tar.ts';

/** Reads a small file in a tar into one buffer. @throws FleetError META_TOO_LARGE, TRUNCATED */
export const readItem = async ({ path, size, content }: TarItem, maxBytes: number): Promise<Buffer> => {
  if (size > maxBytes)
    throw new FleetError('META_TOO_LARGE', `${path} has ${size} bytes, at most ${maxBytes} are read`);
  const bytes = Buffer.alloc(size);
  let filled = 0;
  for await (const chunk of content) {
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  return bytes;
};
