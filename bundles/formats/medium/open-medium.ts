import { stat } from 'node:fs/promises';
import { FleetError, toFleetError } from '../../errors.ts';
import { findNeighbours, findParts, kindOfFile } from './parts/find-parts.ts';
import type { OpenMedium, OpenOptions } from './medium.ts';
import { openDirectory } from './open-directory.ts';
import { openParts } from './parts/open-parts.ts';
import { openTar } from './open-tar.ts';
import { refuseOtherFile } from './refuse-other-file.ts';
import { refuseOtherKinds } from './refuse-other-kinds.ts';

/**
 * @param path a volume, a folder that parts were copied into, a tar, or one part; several for the volumes of one set
 * @throws FleetError MEDIUM_MISSING, MEDIUM_INVALID, MEDIUM_SEALED, NOT_A_RECIPIENT; as openTar
 */
export const openMedium = async (
  path: string | readonly string[],
  options: OpenOptions = {},
): Promise<OpenMedium> => stoppedBy(await openWhole(path, options), options.signal);

/** Ends the loops of all readers at their next read, without a check in each. */
export const stoppedBy = (medium: OpenMedium, signal: AbortSignal | undefined): OpenMedium => {
  if (!signal) return medium;
  return {
    ...medium,
    [Symbol.asyncDispose]: () => medium[Symbol.asyncDispose](),
    files: async (folder) => {
      signal.throwIfAborted();
      return medium.files(folder);
    },
    readFile: async (path, maxBytes) => {
      signal.throwIfAborted();
      return medium.readFile(path, maxBytes);
    },
  };
};

const openWhole = async (path: string | readonly string[], options: OpenOptions): Promise<OpenMedium> => {
  const paths = [path].flat();
  const [first = ''] = paths;
  const found = [];
  try {
    for (const one of paths) found.push({ one, what: await lookAt(one) });
    const parts = found.flatMap(({ what }) => (typeof what === 'string' ? [] : [what]));
    if (parts.length === found.length && parts.length > 0) return await openParts(parts, options);
    if (found.length > 1) throw notParts(found.find(({ what }) => typeof what === 'string')?.one ?? first);
    return await (found[0]?.what === 'directory' ? openDirectory(first) : openTar(first));
  } catch (error) {
    const said = toFleetError(error);
    // The medium was removed after it was found.
    if ((said.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT')
      throw notThere(first, said.cause);
    throw paths.some((one) => said.message.includes(one)) ? said : located(said, first);
  }
};

/** Returns the form of a whole medium, or the parts found. */
const lookAt = async (path: string) => {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') throw notThere(path, error);
    throw toFleetError(error, `opening ${path}`);
  });
  if (found.isDirectory()) {
    await refuseOtherKinds(path);
    return (await findParts(path)) ?? 'directory';
  }
  if (found.isFile()) {
    if ((await kindOfFile(path)) !== 'other') return findNeighbours(path);
    await refuseOtherFile(path);
    return 'tar';
  }
  // A pipe or terminal would block forever.
  throw new FleetError('MEDIUM_INVALID', `${path} is neither a directory nor a file`, {
    hint: 'Give the directory that the stick is mounted at, or a tar file',
  });
};

const notThere = (path: string, cause: unknown): FleetError =>
  new FleetError('MEDIUM_MISSING', `there is no medium at ${path}`, {
    hint: 'Check that the stick is mounted',
    cause,
  });

const notParts = (path: string): FleetError =>
  new FleetError('MEDIUM_INVALID', `${path} holds no parts of a set`, {
    hint: 'Several sticks are read at once only where each has parts of one set; give a whole medium alone',
  });

/** Adds the path of the volume to an error that names only a byte or field. */
const located = (error: FleetError, path: string): FleetError => {
  const { code, message, subject, at, hint } = error;
  if (at !== undefined || message.includes(path)) return error;
  return new FleetError(code, message, {
    subject,
    at: { file: path },
    hint: hint ?? 'The copy is damaged, or this is not a medium of fleet-export; make it again',
    cause: error,
  });
};
