import { open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { compareBytes, type Digest } from '../digest.ts';
import { toFleetError } from '../errors.ts';
import { MEDIUM_FILE, PART_FILE, PARTS_FILE, PARTS_FOLDER, PROGRESS_FILE } from './medium.ts';
import { namesIn } from './names-in.ts';
import { parsePartName, parseStickParts, type StickPart, type StickParts } from './part.ts';
import { readOptional, sizeOf } from './plain-files.ts';

/** A file that may be a part. */
export type Candidate = {
  readonly path: string;
  /** What its name or the stick's list says. */
  readonly number: number | undefined;
  readonly listed?: StickPart;
};

/** Parts in one place, and what they should be parts of where somebody says so. */
export type FoundParts = {
  readonly path: string;
  /** Where people and agents leave plain files; undefined where parts were copied without the stick. */
  readonly root: string | undefined;
  readonly set: Digest | undefined;
  readonly candidates: readonly Candidate[];
};

/**
 * Parts on a stick or in a folder that they were copied into. Undefined where there are none, or none that count: a set that
 * is still being written is not there yet, and a directory's table of contents is that of the stick.
 * @throws FleetError BAD_JSON, SCHEMA of fleet/parts.json; PERMISSION, IO
 */
export const findParts = async (folder: string): Promise<FoundParts | undefined> => {
  const list = await readStickParts(folder, PARTS_FILE);
  if (list) {
    const candidates = list.parts.map((listed) => ({
      path: join(folder, listed.path),
      number: listed.number,
      listed,
    }));
    return { path: folder, root: folder, set: list.set, candidates };
  }
  if ((await sizeOf(join(folder, MEDIUM_FILE))) !== undefined) return undefined;
  if ((await sizeOf(join(folder, PROGRESS_FILE))) !== undefined) return undefined;
  for (const place of [folder, join(folder, PARTS_FOLDER)]) {
    const candidates = await partsIn(place);
    if (candidates.length > 0) return { path: folder, root: folder, set: undefined, candidates };
  }
  return undefined;
};

/** The list of parts of a stick, or of those that are done. @throws FleetError BAD_JSON, SCHEMA, PERMISSION, IO */
export const readStickParts = async (root: string, file: string): Promise<StickParts | undefined> => {
  const bytes = await readOptional(join(root, file));
  return bytes && parseStickParts(bytes, file);
};

/** One part that was named by itself, and its neighbours of the same set. */
export const findNeighbours = async (file: string): Promise<FoundParts> => {
  const set = parsePartName(basename(file))?.set;
  const all = set === undefined ? [] : await partsIn(dirname(file));
  const others = all.filter(({ path }) => path !== file && parsePartName(basename(path))?.set === set);
  const own = { path: file, number: parsePartName(basename(file))?.number };
  return { path: file, root: undefined, set: undefined, candidates: [own, ...others] };
};

const partsIn = async (folder: string): Promise<readonly Candidate[]> => {
  const candidates: Candidate[] = [];
  for await (const name of namesIn(folder, (entry) => !entry.isDirectory())) {
    const said = parsePartName(name);
    if (said) candidates.push({ path: join(folder, name), number: said.number });
  }
  return candidates.toSorted((a, b) => compareBytes(a.path, b.path));
};

const AGE = 'age-encryption.org/v1\n';

/** What a file is by its first bytes; a tar of another kind is a medium of its own. */
export const kindOfFile = async (path: string): Promise<'sealed' | 'part' | 'other'> => {
  try {
    await using handle = await open(path, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(64), 0, 64, 0);
    const start = buffer.toString('latin1', 0, bytesRead);
    if (start.startsWith(AGE)) return 'sealed';
    return [`${PART_FILE}\0`, `./${PART_FILE}\0`].some((name) => start.startsWith(name)) ? 'part' : 'other';
  } catch (error) {
    throw toFleetError(error, `opening ${path}`);
  }
};
