import type { FileHandle } from 'node:fs/promises';
import { fileCursor } from '../archive/file-cursor.ts';
import { openRegularFile } from '../archive/open-regular-file.ts';
import { readItem } from '../archive/read-item.ts';
import { readTar } from '../archive/read-tar.ts';
import { compareBytes } from '../../digest.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { type ReadOptions, readSpan, type Span } from '../layout/read-span.ts';
import { missingBlob } from '../layout/verified.ts';
import { blobPath, digestOfPath } from './blob-path.ts';
import { chunkedBlobs, type OpenFile } from './parts/chunked-blobs.ts';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type Medium, type OpenMedium, parseMedium } from './medium.ts';

/** Above the entries of any medium of ours: a hundred thousand blobs and their folders. */
const MAX_ENTRIES = 250_000;

/**
 * Opens a medium in one tar. Reads and checks every header once and seeks over contents, so that the cost does not depend on the
 * size; blobs are then read in place.
 * @param enough called after each file that follows the table of contents; true ends the walk. The files after it are then neither
 *   available nor checked.
 * @throws FleetError of readTar and parseMedium, ORDER, MEDIUM_INVALID, META_TOO_LARGE
 */
export const openTar = async (
  path: string,
  enough: (medium: Medium, file: string) => boolean = () => false,
): Promise<OpenMedium> => {
  const handle = await openRegularFile(path).catch((error: unknown) => {
    throw toFleetError(error, `opening ${path}`);
  });
  try {
    return await openHandle(path, handle, enough);
  } catch (error) {
    await handle.close();
    throw error;
  }
};

const openHandle = async (
  path: string,
  handle: FileHandle,
  enough: (medium: Medium, file: string) => boolean,
): Promise<OpenMedium> => {
  const spans = new Map<string, Span>();
  let medium: Medium | undefined;
  for await (const item of readTar(fileCursor(handle, (await handle.stat()).size), {
    maxEntries: MAX_ENTRIES,
  })) {
    if (item.directory) continue;
    if (item.path === MEDIUM_FILE) medium = parseMedium(await readItem(item, MAX_MEDIUM_BYTES));
    else if (!medium && digestOfPath(item.path) !== undefined) {
      throw new FleetError('ORDER', `${path} has blobs before ${MEDIUM_FILE}`, {
        hint: 'Another tool may have packed it again. Extract it and give the folder, or make the medium again with fleet-export',
      });
    } else if (!medium && item.path.endsWith(`/${MEDIUM_FILE}`)) {
      const folder = item.path.slice(0, -MEDIUM_FILE.length - 1);
      throw new FleetError('MEDIUM_INVALID', `${path} has a medium in its folder ${folder}`, {
        hint: 'Another tool may have packed it. Extract it and give that folder',
      });
    }
    spans.set(item.path, { offset: item.offset, size: item.size });
    if (medium && enough(medium, item.path)) break;
  }
  const read = (span: Span, options: ReadOptions): AsyncIterable<Uint8Array> =>
    readSpan(handle, span, `the medium ${path}`, options);
  const whole: BlobSource = {
    name: `medium ${path}`,
    size: async (digest) => spans.get(blobPath(digest))?.size,
    open: async (digest, signal) => {
      const span = spans.get(blobPath(digest));
      if (!span) throw missingBlob(digest, `medium ${path}`);
      return read(span, { signal });
    },
  };
  const openFile: OpenFile = async (file, options = {}) => {
    const span = spans.get(file);
    if (!span) throw new FleetError('MISSING_BLOB', `${file} is not on the medium ${path}`);
    return read(span, options);
  };
  return {
    path,
    form: 'tar',
    roots: [],
    medium,
    blobs: chunkedBlobs(whole, medium?.chunks ?? [], openFile),
    files: async (folder) =>
      [...spans.keys()].filter((file) => file.startsWith(`${folder}/`)).toSorted(compareBytes),
    readFile: async (file, maxBytes) => {
      const size = spans.get(file)?.size ?? 0; // openFile refuses one that is not there
      if (size > maxBytes)
        throw new FleetError('TOO_LARGE', `${file} has ${size} bytes, at most ${maxBytes} are read`);
      return Buffer.concat(await Array.fromAsync(await openFile(file)));
    },
    [Symbol.asyncDispose]: () => handle.close(),
  };
};
