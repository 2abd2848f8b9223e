import { isDeepStrictEqual } from 'node:util';
import { isMap, parseDocument } from 'yaml';
import { compareBytes, hexOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { EMPTY, findLock, sectionOf } from '../images/lock-file.ts';
import type { LockedContent } from '../../model/content-locks.ts';

/** An address with its entries before and now. */
export type LockedFile = {
  readonly url: string;
  readonly before: LockedContent | undefined;
  readonly after: LockedContent;
};

/** A selection of Debian packages with the addresses before and now. */
export type LockedDebs = {
  readonly key: string;
  readonly before: readonly string[] | undefined;
  readonly after: readonly string[];
};

/**
 * Writes `spec.files` of the lock file beside a platform, one line for each entry. Comments, order and other fields stay.
 * @returns the file that was written; undefined if nothing changed
 */
export const writeContentLocks = async (
  directory: string,
  locked: readonly LockedFile[],
): Promise<string | undefined> => {
  const changed = locked.filter(
    ({ before, after }) => before?.digest !== after.digest || before.size !== after.size,
  );
  return await writeSection(
    directory,
    'files',
    changed.map(({ url, after }) => [url, { sha256: hexOf(after.digest), size: after.size }]),
  );
};

/** Writes `spec.debs`: the addresses of each selection. @returns the file that was written; undefined if nothing changed */
export const writeDebLocks = async (
  directory: string,
  locked: readonly LockedDebs[],
): Promise<string | undefined> => {
  const changed = locked.filter(({ before, after }) => !isDeepStrictEqual(before, after));
  return await writeSection(
    directory,
    'debs',
    changed.map(({ key, after }) => [key, after]),
  );
};

const writeSection = async (
  directory: string,
  name: 'files' | 'debs',
  entries: readonly (readonly [key: string, value: unknown])[],
): Promise<string | undefined> => {
  if (entries.length === 0) return undefined;
  const { file, text } = await findLock(directory);
  const document = parseDocument(text ?? EMPTY);
  const section = sectionOf(document, name, file);
  for (const [key, value] of entries.toSorted(([a], [b]) => compareBytes(a, b))) {
    const entry = document.createNode(value);
    if (isMap(entry)) entry.flow = true;
    if (section.has(key)) section.set(key, entry);
    else section.set(document.createNode(key), entry);
  }
  section.flow = false;
  try {
    await writeFileAtomically(file, Buffer.from(document.toString({ lineWidth: 0 })));
  } catch (error) {
    throw toFleetError(error, `writing ${file}`);
  }
  return file;
};
