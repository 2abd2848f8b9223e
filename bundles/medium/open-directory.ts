import { join } from 'node:path';
import { openBlobDirectory } from '../layout/blob-directory.ts';
import { readWhole } from '../layout/read-span.ts';
import { chunkedBlobs, type OpenFile } from './chunked-blobs.ts';
import { MEDIUM_FILE, type OpenMedium, parseMedium } from './medium.ts';
import { listFiles, notThere, readOptional, sizeOf } from './plain-files.ts';

/** @throws FleetError of parseMedium */
export const openDirectory = async (path: string): Promise<OpenMedium> => {
  const bytes = await readOptional(join(path, MEDIUM_FILE));
  const medium = bytes && parseMedium(bytes);
  const openFile: OpenFile = async (file, options) => {
    if ((await sizeOf(join(path, file))) === undefined) throw notThere(file, path);
    return readWhole(join(path, file), options);
  };
  return {
    ...openPlainFiles(path),
    medium,
    blobs: chunkedBlobs(openBlobDirectory(path, `medium ${path}`), medium?.chunks ?? [], openFile),
  };
};

/**
 * A stick without a word of what it was filled with: requests, reports and receipts are files of their own in every form,
 * and those of a medium that cannot be read here can.
 */
export const openPlainFiles = (path: string): OpenMedium => ({
  path,
  form: 'directory',
  roots: [path],
  medium: undefined,
  blobs: openBlobDirectory(path, `medium ${path}`),
  files: (folder) => listFiles(path, folder),
  readFile: async (file, maxBytes) => {
    const bytes = await readOptional(join(path, file), maxBytes);
    if (!bytes) throw notThere(file, path);
    return bytes;
  },
  [Symbol.asyncDispose]: async () => {},
});
