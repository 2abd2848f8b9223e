import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { findParts } from '#bundles/medium/find-parts';
import { MEDIUM_FILE } from '#bundles/medium/medium';
import { isFolder } from '#bundles/medium/plain-files';
import { digestOfFile } from '../verify/digest-of-file.ts';

/** Of the files that say which media these are: an archive or part itself; of a folder its parts, or its table of contents. */
export const digestsOfMedia = async (
  media: readonly string[],
  signal?: AbortSignal,
): Promise<readonly Digest[]> => {
  const digests: Digest[] = [];
  for (const path of media)
    for (const file of await filesOf(path)) {
      const digest = await digestOrNothing(file, signal);
      if (digest) digests.push(digest);
    }
  return [...new Set(digests)].toSorted();
};

const filesOf = async (path: string): Promise<readonly string[]> => {
  if (!(await isFolder(path))) return [path];
  const parts = await findParts(path).catch(() => undefined);
  return parts ? parts.candidates.map((one) => one.path) : [join(path, MEDIUM_FILE)];
};

/** What cannot be read is no less refused. */
const digestOrNothing = async (path: string, signal?: AbortSignal): Promise<Digest | undefined> => {
  try {
    return (await isFile(path)) ? await digestOfFile(path, signal) : undefined;
  } catch (error) {
    if (signal?.aborted) throw error;
    return undefined;
  }
};

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
