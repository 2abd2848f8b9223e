import { createReadStream } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes } from '../digest.ts';
import { FleetError, toFleetError } from '../errors.ts';
import { openBlobDirectory } from '../layout/blob-directory.ts';
import { chunkedBlobs } from './chunked-blobs.ts';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type OpenMedium, parseMedium } from './medium.ts';
import { openTar } from './open-tar.ts';

/** @throws FleetError MEDIUM_MISSING, MEDIUM_INVALID and those of the tar reader */
export const openMedium = async (path: string): Promise<OpenMedium> => {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') {
      throw new FleetError('MEDIUM_MISSING', `there is no medium at ${path}`, {
        hint: 'Is the stick mounted?',
      });
    }
    throw toFleetError(error, `opening ${path}`);
  });
  // A pipe or terminal would be waited for until the end of days.
  if (!found.isDirectory() && !found.isFile()) {
    throw new FleetError('MEDIUM_INVALID', `${path} is neither a directory nor a file`, {
      hint: 'Give the directory that the stick is mounted at, or a tar file',
    });
  }
  try {
    return await (found.isDirectory() ? openDirectory(path) : openTar(path));
  } catch (error) {
    throw located(toFleetError(error), path);
  }
};

/** What is wrong with an archive or its table of contents is said of a byte or field; a person wants to know of which stick. */
const located = (error: FleetError, path: string): FleetError => {
  const { code, message, subject, at, hint } = error;
  if (at !== undefined || message.includes(path)) return error;
  return new FleetError(code, message, {
    ...(subject === undefined ? {} : { subject }),
    at: { file: path },
    hint: hint ?? 'The copy is damaged, or this is no medium of fleet-export; make it again',
    cause: error,
  });
};

const openDirectory = async (path: string): Promise<OpenMedium> => {
  const bytes = await readOptional(join(path, MEDIUM_FILE));
  const medium = bytes && parseMedium(bytes);
  const openFile = async (file: string, signal?: AbortSignal): Promise<AsyncIterable<Uint8Array>> => {
    if ((await sizeOf(join(path, file))) === undefined) throw notThere(file, path);
    const stream = createReadStream(join(path, file), { highWaterMark: 1 << 20, signal });
    // Who reads gets the error from the stream. An 'error' that comes before they do would end the process.
    stream.on('error', () => {});
    return stream;
  };
  return {
    path,
    form: 'directory',
    medium,
    blobs: chunkedBlobs(openBlobDirectory(path, `medium ${path}`), medium?.chunks ?? [], openFile),
    files: async (folder) => {
      try {
        const entries = await readdir(join(path, folder), { withFileTypes: true, recursive: true });
        return entries
          .filter((entry) => entry.isFile() && !entry.name.startsWith('.'))
          .map((entry) => join(entry.parentPath, entry.name).slice(join(path, '/').length))
          .toSorted(compareBytes);
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException;
        if (code === 'ENOENT' || code === 'ENOTDIR') return [];
        throw toFleetError(error, `listing ${join(path, folder)}`);
      }
    },
    readFile: async (file, maxBytes) => {
      const bytes = await readOptional(join(path, file), maxBytes);
      if (!bytes) throw notThere(file, path);
      return bytes;
    },
    [Symbol.asyncDispose]: async () => {},
  };
};

const readOptional = async (file: string, maxBytes = MAX_MEDIUM_BYTES): Promise<Buffer | undefined> => {
  const size = await sizeOf(file);
  if (size === undefined) return undefined;
  if (size > maxBytes)
    throw new FleetError('TOO_LARGE', `${file} has ${size} bytes, at most ${maxBytes} are read`);
  return readFile(file).catch((error: unknown) => {
    throw toFleetError(error, `reading ${file}`);
  });
};

/** Undefined where nothing is. A pipe or device would be read for ever. @throws FleetError MEDIUM_INVALID */
const sizeOf = async (file: string): Promise<number | undefined> => {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `reading ${file}`);
  });
  if (found && !found.isFile()) throw new FleetError('MEDIUM_INVALID', `${file} is not a file`);
  return found?.size;
};

const notThere = (file: string, path: string): FleetError =>
  new FleetError('MISSING_BLOB', `${file} is not on the medium ${path}`);
