import { existsSync, statSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Digest, digestFromHex, hexOf } from '#bundles/digest';
import { readPull } from './pull.ts';
import type { State } from './state.ts';

const PARTIAL = '.part-';

/** The file with the first bytes of a blob whose copy was interrupted. They are not verified. */
export const partialFile = ({ blobs }: Pick<State, 'blobs'>, digest: Digest): string =>
  join(dirname(blobs.path(digest)), `${PARTIAL}${hexOf(digest)}`);

/** Number of bytes of a blob that an interrupted copy has left. */
export const partialBytes = (state: Pick<State, 'blobs'>, digest: Digest): number =>
  statSync(partialFile(state, digest), { throwIfNoEntry: false })?.size ?? 0;

/** Whether an interrupted copy has left something of a blob, if only its empty file, or a complete one the whole blob. */
export const isBegun = (state: Pick<State, 'blobs'>, digest: Digest): boolean =>
  existsSync(partialFile(state, digest)) || existsSync(state.blobs.path(digest));

/** Removes the partial blobs that no pull waits for. */
export const removePartialBlobs = async (
  state: State,
  folder: string,
  names: readonly string[],
): Promise<void> => {
  const awaited = new Set(readPull(state));
  for (const name of names.filter((entry) => entry.startsWith(PARTIAL))) {
    const digest = digestFromHex(name.slice(PARTIAL.length));
    if (!awaited.has(digest) || (await state.blobs.size(digest)) !== undefined)
      await rm(join(folder, name), { force: true });
  }
};
