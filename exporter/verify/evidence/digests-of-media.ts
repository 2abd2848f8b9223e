import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { type Candidate, findParts, openCandidate } from '#bundles/formats/medium/parts/find-parts';
import { MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { isFolder } from '#bundles/formats/medium/plain-files';
import { digestOfFile } from '../digest-of-file.ts';

/** Digests of the files that identify the media: an archive or part itself; the parts of a folder, or its table of contents. */
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

type File = Pick<Candidate, 'path' | 'found'>;

const filesOf = async (path: string): Promise<readonly File[]> => {
  if (!(await isFolder(path))) return [{ path }];
  const parts = await findParts(path).catch(() => undefined);
  return parts?.candidates ?? [{ path: join(path, MEDIUM_FILE), found: { root: path, file: MEDIUM_FILE } }];
};

/** Unreadable and non-regular files are left out of the digests. */
const digestOrNothing = async (file: File, signal?: AbortSignal): Promise<Digest | undefined> => {
  try {
    return await digestOfFile(file.path, signal, () => openCandidate(file));
  } catch (error) {
    if (signal?.aborted) throw error;
    return undefined;
  }
};
