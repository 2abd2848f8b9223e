import { parseDocument } from 'yaml';
import { compareBytes, hexOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { EMPTY, findLock, sectionOf } from '../images/lock-file.ts';
import type { LockedContent } from '../../model/content-locks.ts';

/** An address with what it was and what it is now. */
export type LockedFile = {
  readonly url: string;
  readonly before: LockedContent | undefined;
  readonly after: LockedContent;
};

/**
 * Writes `spec.files` of the lock file beside a platform: one line each, so that one that changed is one line. Comments, order
 * and the rest stay. @returns the file that was written, or undefined where nothing changed
 */
export const writeContentLocks = async (
  directory: string,
  locked: readonly LockedFile[],
): Promise<string | undefined> => {
  const changed = locked.filter(
    ({ before, after }) => before?.digest !== after.digest || before.size !== after.size,
  );
  if (changed.length === 0) return undefined;
  const { file, text } = await findLock(directory);
  const document = parseDocument(text ?? EMPTY);
  const section = sectionOf(document, 'files', file);
  for (const { url, after } of changed.toSorted((a, b) => compareBytes(a.url, b.url))) {
    const entry = document.createNode({ sha256: hexOf(after.digest), size: after.size });
    entry.flow = true;
    if (section.has(url)) section.set(url, entry);
    else section.set(document.createNode(url), entry);
  }
  section.flow = false;
  try {
    await writeFileAtomically(file, Buffer.from(document.toString({ lineWidth: 0 })));
  } catch (error) {
    throw toFleetError(error, `writing ${file}`);
  }
  return file;
};
