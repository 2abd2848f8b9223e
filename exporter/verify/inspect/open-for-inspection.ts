import { open, stat } from 'node:fs/promises';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { FleetError } from '#bundles/errors';
import { kindOfFile } from '#bundles/formats/medium/parts/find-parts';
import { MEDIUM_FILE, type Medium, type OpenMedium, type OpenOptions } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openTar } from '#bundles/formats/medium/open-tar';

/**
 * Opens a medium for `inspect`. Reads a tar file only up to the documents, so that the time does not depend on the number of blobs.
 * @throws FleetError as openMedium
 */
export const openForInspection = async (
  paths: readonly string[],
  options: OpenOptions,
): Promise<OpenMedium> => {
  const [path = ''] = paths;
  if (paths.length > 1 || !(await isTar(path))) return openMedium(paths, options);
  await checkEnd(path);
  return openTar(path, documentsOnly());
};

const isTar = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true && (await kindOfFile(path)) === 'other';
};

const documentsOnly = (): ((medium: Medium, file: string) => boolean) => {
  let waiting: Set<string> | undefined;
  return ({ carries, documents }, file) => {
    if (!carries) return false;
    waiting ??= new Set(documents.map(({ digest }) => blobPath(digest)));
    waiting.delete(file);
    return waiting.size === 0 && file !== MEDIUM_FILE;
  };
};

/** Two blocks of zeros (POSIX.1, ustar). A truncated file seldom ends with them. */
const END = 1024;

const checkEnd = async (path: string): Promise<void> => {
  await using handle = await open(path, 'r');
  const { size } = await handle.stat();
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(END), 0, END, Math.max(0, size - END));
  if (bytesRead === END && buffer.every((byte) => byte === 0)) return;
  throw new FleetError('TRUNCATED', `${path} is not a complete tar archive`, {
    hint: 'The copy was cut short, or it is another kind of file; copy it again',
  });
};
