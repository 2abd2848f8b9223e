import { canonicalBytes } from '#bundles/json/canonical';
import { hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readVolumeParts } from '#bundles/formats/medium/parts/find-parts';
import { PARTS_FILE, PROGRESS_FILE } from '#bundles/formats/medium/medium';
import type { VolumePart, VolumeParts } from '#bundles/formats/medium/parts/part';

/** A list for `sha256sum -c`, for people without our programs. */
export const SUMS_FILE = 'fleet/SHA256SUMS';

/** The list of parts on a volume; undefined if there is no valid list. */
export const readLists = async (
  root: string,
): Promise<{ readonly done: VolumeParts | undefined; readonly begun: VolumeParts | undefined }> => ({
  done: await orUndefined(() => readVolumeParts(root, PARTS_FILE)),
  begun: await orUndefined(() => readVolumeParts(root, PROGRESS_FILE)),
});

/** undefined for a damaged list, which is written again. */
const orUndefined = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FleetError && error.exitCode === 4) return undefined;
    throw error;
  }
};

export const listBytes = (list: VolumeParts): Buffer => canonicalBytes(list);

/** Paths relative to the folder of the file. */
export const sumsOf = (parts: readonly VolumePart[]): Buffer =>
  Buffer.from(parts.map(({ path, digest }) => `${hexOf(digest)}  ${path.slice('fleet/'.length)}\n`).join(''));
