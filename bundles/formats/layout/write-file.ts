import { randomInt, randomUUID } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDirectory } from './create-directory.ts';
import { inParallel } from '../../in-parallel.ts';
import { MAX_SYNCS, renameAllSynced, renameSynced } from './rename-synced.ts';
import { writeDurably } from './write-behind.ts';

/** Prefix of the names of temporary files. A killed process leaves them behind; they can be removed. */
export const TEMPORARY = '.tmp-';

/**
 * Replaces a file atomically: a power cut or a removed medium leaves the old or the new content. Writes a temporary file in the same
 * folder, syncs it, renames it and syncs the folder.
 */
export const writeFileAtomically = async (
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  mode = 0o644,
): Promise<void> => {
  await createDirectory(dirname(path));
  const temporary = temporaryFor(path);
  try {
    await writeSynced(temporary, content, mode);
    await renameSynced(temporary, path);
  } catch (error) {
    // The first failure is the one that is reported.
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
};

export type NewFile = { readonly path: string; readonly bytes: Uint8Array };

/** The same for many files, each of which is replaced or not; they share the waits for the disk. */
export const writeFilesAtomically = async (files: readonly NewFile[], mode = 0o644): Promise<void> => {
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) await createDirectory(folder);
  const drafts = draftsOf(files);
  try {
    await inParallel(drafts, MAX_SYNCS, ({ from, bytes }) => writeSynced(from, bytes, mode));
    await renameAllSynced(drafts);
  } catch (error) {
    for (const { from } of drafts) await rm(from, { force: true }).catch(() => {});
    throw error;
  }
};

/** Numbered from a random one: of thousands of random names of this length two are often the same. */
export const draftsOf = (files: readonly NewFile[]) => {
  const first = randomInt(NAMES);
  return files.map(({ path, bytes }, at) => {
    const name = ((first + at) % NAMES).toString(16).padStart(DIGITS, '0');
    return { from: join(dirname(path), `${TEMPORARY}${name}`), to: path, bytes };
  });
};

const DIGITS = 8;
const NAMES = 16 ** DIGITS;

const temporaryFor = (path: string): string =>
  join(dirname(path), `${TEMPORARY}${randomUUID().slice(0, DIGITS)}`);

const writeSynced = async (
  path: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  mode: number,
): Promise<void> => {
  const file = await open(path, 'wx', mode);
  try {
    if (!(content instanceof Uint8Array)) return await writeDurably(file, content);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
};
