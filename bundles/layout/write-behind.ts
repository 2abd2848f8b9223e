import type { FileHandle } from 'node:fs/promises';

/**
 * A piece is written while the next one is read and hashed, and is the reader's again when that one is written.
 * @throws what the content and the file system throw; nothing is written any more then
 */
export const writeBehind = async (
  content: AsyncIterable<Uint8Array>,
  write: (piece: Uint8Array) => Promise<void>,
): Promise<void> => {
  let written = Promise.resolve();
  try {
    for await (const piece of content) {
      await written;
      written = write(piece);
      // It is thrown with the next piece, or behind the last.
      written.catch(() => {});
    }
  } catch (error) {
    // Nobody closes a file that is still written to.
    await written.catch(() => {});
    throw error;
  }
  await written;
};

/** Where the file stands. @throws what the file system throws */
export const writeWhole = async (file: FileHandle, bytes: Uint8Array): Promise<void> => {
  for (let done = 0; done < bytes.byteLength; )
    done += tookSome(await file.write(bytes, done, bytes.byteLength - done));
};

/** Bytes that a file has taken. None, and no error, would be asked for ever. @throws EIO */
export const tookSome = ({ bytesWritten }: { readonly bytesWritten: number }): number => {
  if (bytesWritten > 0) return bytesWritten;
  throw Object.assign(new Error('EIO: a write took no bytes'), { code: 'EIO' });
};
