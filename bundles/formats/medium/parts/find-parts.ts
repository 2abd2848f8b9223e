import { basename, dirname, join } from 'node:path';
import { openFileAccess } from '../../archive/open-file-access.ts';
import type { RandomAccess } from '../../archive/random-access.ts';
import { compareBytes, type Digest } from '../../../digest.ts';
import { FleetError } from '../../../errors.ts';
import { MEDIUM_FILE, PART_FILE, PARTS_FILE, PARTS_FOLDER, PROGRESS_FILE } from '../medium.ts';
import { namesIn } from '../names-in.ts';
import { parsePartName, parseVolumeParts, type VolumePart, type VolumeParts } from './part.ts';
import { openFileOf, readOptional, sizeOf } from '../plain-files.ts';

/** A file that may be a part. */
export type Candidate = {
  readonly path: string;
  /** The folder that was searched and the path from there; undefined when the user named the file itself. */
  readonly found?: { readonly root: string; readonly file: string };
  /** Part number from its name or the volume's list. */
  readonly number: number | undefined;
  readonly listed?: VolumePart;
};

/** Parts in one place. `set` comes from the volume's list. */
export type FoundParts = {
  readonly path: string;
  /** Root of the plain files (requests, reports, receipts); undefined when a part was named alone. */
  readonly root: string | undefined;
  readonly set: Digest | undefined;
  readonly candidates: readonly Candidate[];
};

/**
 * Finds the parts on a volume or in a folder of copies. Undefined when there are none, when the set is still being written, or when the
 * folder is a medium of the form directory.
 * @throws FleetError BAD_JSON, SCHEMA of fleet/parts.json; PERMISSION, IO
 */
export const findParts = async (folder: string): Promise<FoundParts | undefined> => {
  const list = await readVolumeParts(folder, PARTS_FILE);
  if (list) {
    const candidates = list.parts.map((listed) => ({
      ...foundAt(folder, listed.path),
      number: listed.number,
      listed,
    }));
    return { path: folder, root: folder, set: list.set, candidates };
  }
  if ((await sizeOf(folder, MEDIUM_FILE)) !== undefined) return undefined;
  if ((await sizeOf(folder, PROGRESS_FILE)) !== undefined) return undefined;
  for (const place of ['', PARTS_FOLDER]) {
    const candidates = await partsIn(folder, place);
    if (candidates.length > 0) return { path: folder, root: folder, set: undefined, candidates };
  }
  return undefined;
};

/** Reads the list of parts of a volume, or the progress file. @throws FleetError BAD_JSON, SCHEMA, PERMISSION, IO */
export const readVolumeParts = async (root: string, file: string): Promise<VolumeParts | undefined> => {
  const bytes = await readOptional(root, file);
  return bytes && parseVolumeParts(bytes, file);
};

/** A part that the user named, and the parts of the same set in its folder. */
export const findNeighbours = async (file: string): Promise<FoundParts> => {
  const set = parsePartName(basename(file))?.set;
  const all = set === undefined ? [] : await partsIn(dirname(file), '');
  const others = all.filter(({ path }) => path !== file && parsePartName(basename(path))?.set === set);
  const own = { path: file, number: parsePartName(basename(file))?.number };
  return { path: file, root: undefined, set: undefined, candidates: [own, ...others] };
};

/** Entries with the name of a part. One that is not a regular file is refused when it is opened. */
const partsIn = async (root: string, folder: string): Promise<readonly Candidate[]> => {
  const candidates: Candidate[] = [];
  for await (const name of namesIn(root, folder, (entry) => !entry.isDirectory())) {
    const said = parsePartName(name);
    if (said) candidates.push({ ...foundAt(root, join(folder, name)), number: said.number });
  }
  return candidates.toSorted((a, b) => compareBytes(a.path, b.path));
};

const foundAt = (root: string, file: string): Pick<Candidate, 'path' | 'found'> => ({
  path: join(root, file),
  found: { root, file },
});

/** @throws FleetError MISSING_BLOB, MEDIUM_INVALID, PERMISSION, IO */
export const openCandidate = ({ path, found }: Pick<Candidate, 'path' | 'found'>): Promise<RandomAccess> =>
  found === undefined
    ? openFileAccess(path)
    : openFileAccess(path, async () => {
        const handle = await openFileOf(found.root, found.file);
        if (handle) return handle;
        throw new FleetError('MISSING_BLOB', 'it is not there any more');
      });

const AGE = 'age-encryption.org/v1\n';

/** Kind of a file by its first bytes; 'other' may be a medium in one tar. */
export const kindOfBytes = async (
  bytes: Pick<RandomAccess, 'read'>,
): Promise<'sealed' | 'part' | 'other'> => {
  const start = Buffer.alloc(64);
  const { bytesRead } = await bytes.read(start, 0, start.byteLength, 0);
  const text = start.toString('latin1', 0, bytesRead);
  if (text.startsWith(AGE)) return 'sealed';
  return [`${PART_FILE}\0`, `./${PART_FILE}\0`].some((name) => text.startsWith(name)) ? 'part' : 'other';
};

/** As kindOfBytes, of a file that the user named. @throws FleetError MEDIUM_INVALID, PERMISSION, IO */
export const kindOfFile = async (path: string): Promise<'sealed' | 'part' | 'other'> => {
  await using bytes = await openFileAccess(path);
  return await kindOfBytes(bytes);
};
