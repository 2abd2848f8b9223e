import { join } from 'node:path';
import { readWhole } from '../layout/read-span.ts';
import { chunkedBlobs, type OpenFile } from './chunked-blobs.ts';
import { openFolderBlobs } from './folder-blobs.ts';
import { MEDIUM_FILE, type OpenMedium, parseMedium } from './medium.ts';
import { listFiles, notThere, openFileOf, readOptional, sizeOf } from './plain-files.ts';

/** @throws FleetError of parseMedium; MEDIUM_INVALID */
export const openDirectory = async (path: string): Promise<OpenMedium> => {
  const bytes = await readOptional(path, MEDIUM_FILE);
  const medium = bytes && parseMedium(bytes);
  const openFile: OpenFile = async (file, options) => {
    if ((await sizeOf(path, file)) === undefined) throw notThere(file, path);
    return readWhole(join(path, file), options, () => openFileOf(path, file));
  };
  const plain = openPlainFiles(path);
  return { ...plain, medium, blobs: chunkedBlobs(plain.blobs, medium?.chunks ?? [], openFile) };
};

/**
 * A stick without a word of what it was filled with: requests, reports and receipts are files of their own in every form,
 * and those of a medium that cannot be read here can.
 */
export const openPlainFiles = (path: string): OpenMedium => {
  const blobs = openFolderBlobs(path);
  return {
    path,
    form: 'directory',
    roots: [path],
    medium: undefined,
    blobs,
    files: (folder) => listFiles(path, folder),
    readFile: async (file, maxBytes) => {
      const bytes = await readOptional(path, file, maxBytes);
      if (!bytes) throw notThere(file, path);
      return bytes;
    },
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
};
