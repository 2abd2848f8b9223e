import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { IS_WINDOWS } from '#bundles/is-windows';

/** An open file, for one read at a time. */
export type Readable = {
  /** @param position and `length` are multiples of a page @returns the number of bytes read */
  readonly read: (buffer: Uint8Array, length: number, position: number) => Promise<number>;
  readonly close: () => Promise<void>;
};

/** @param past true: bypass the page cache while the file system supports it; some accept the flag and then refuse a read */
export const openReadable = async (path: string, past: boolean): Promise<Readable> => {
  let direct = past ? await openDirect(path) : undefined;
  let usual = direct ? undefined : await open(path, 'r');
  return {
    read: async (buffer, length, position) => {
      try {
        if (direct) return (await direct.read(buffer, 0, length, position)).bytesRead;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        const refused = direct;
        direct = undefined;
        await refused?.close();
      }
      usual ??= await open(path, 'r');
      return (await usual.read(buffer, 0, length, position)).bytesRead;
    },
    close: async () => {
      await direct?.close();
      await usual?.close();
    },
  };
};

/** Of libuv on Windows, where Node.js names no such constant (UV_FS_O_DIRECT: FILE_FLAG_NO_BUFFERING). macOS has none. */
const UNBUFFERED = 0x02000000;
const DIRECT = IS_WINDOWS ? UNBUFFERED : (constants as { readonly O_DIRECT?: number }).O_DIRECT;

/** undefined if the system or file system has no O_DIRECT. @throws other errors of open(2) */
const openDirect = async (path: string): Promise<FileHandle | undefined> => {
  if (DIRECT === undefined) return undefined;
  try {
    return await open(path, constants.O_RDONLY | DIRECT);
  } catch (error) {
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

const isRefusal = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '');
