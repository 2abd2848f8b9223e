import { join } from 'node:path';
import { readWhole } from '../layout/read-span.ts';
import { chunkedBlobs, type OpenFile } from './parts/chunked-blobs.ts';
import { openFolderBlobs } from './folder-blobs.ts';
import { MEDIUM_FILE, type OpenMedium, parseMedium } from './medium.ts';
import { listFiles, notThere, openFileOf, readOptional, sharedReader, sizeOf } from './plain-files.ts';

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME, MEDIUM_INVALID, PERMISSION, IO */
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
 * Opens only the plain files of a medium, without its table of contents: requests, reports and receipts are readable also when
 * the rest is not.
 */
export const openPlainFiles = (path: string): OpenMedium => {
  const blobs = openFolderBlobs(path);
  const read = sharedReader(path);
  return {
    path,
    form: 'directory',
    roots: [path],
    medium: undefined,
    blobs,
    files: (folder) => listFiles(path, folder),
    readFile: async (file, maxBytes) => {
      const bytes = await read(file, maxBytes);
      if (!bytes) throw notThere(file, path);
      return bytes;
    },
    [Symbol.asyncDispose]: () => blobs[Symbol.asyncDispose](),
  };
};
