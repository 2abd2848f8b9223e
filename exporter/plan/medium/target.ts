import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { checkMounted, refuseInside } from '#bundles/formats/medium/check-mounted';
import { MEDIUM_FILE, type OpenMedium, type OpenOptions, PARTS_FILE } from '#bundles/formats/medium/medium';
import { openPlainFiles } from '#bundles/formats/medium/open-directory';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { refuseForeign, refuseForeignBeside } from './refuse-foreign.ts';

/** The target of the medium and its present content. */
export type Target = AsyncDisposable & {
  readonly path: string;
  readonly form: 'directory' | 'tar';
  /** The open medium, or a volume with at most requests and reports. */
  readonly before: OpenMedium | undefined;
  readonly notes: readonly string[];
};

/**
 * Examines the target before anything is written: it must be a medium or free.
 * @param open identity to open a sealed set that is there
 * @param forcePath accepts a folder below a mount directory on which nothing is mounted
 * @throws FleetError USAGE for a folder of a medium; MEDIUM_INVALID for a foreign file or layout, MEDIUM_MISSING for a volume that is not mounted, PERMISSION, IO
 */
export const openTarget = async (
  path: string,
  open: OpenOptions = {},
  forcePath = false,
): Promise<Target> => {
  refuseInside(path);
  if (!forcePath) await checkMounted(path);
  const found = await statOptional(path);
  if (found?.isDirectory()) return openFolder(path, open);
  if (!found && !path.endsWith('.tar')) return target(path, 'directory', undefined);
  await refuseForeignBeside(path);
  return found ? openFile(path) : target(path, 'tar', undefined);
};

const target = (
  path: string,
  form: Target['form'],
  before: OpenMedium | undefined,
  notes: readonly string[] = [],
): Target => ({
  path,
  form,
  before,
  notes,
  [Symbol.asyncDispose]: async () => before?.[Symbol.asyncDispose](),
});

const openFolder = async (path: string, open: OpenOptions): Promise<Target> => {
  await refuseForeign(path);
  const isSet = (await statOptional(join(path, PARTS_FILE))) !== undefined;
  const isFilled = isSet || (await statOptional(join(path, MEDIUM_FILE))) !== undefined;
  if (!isFilled && (await statOptional(join(path, 'index.json')))) {
    throw new FleetError('MEDIUM_INVALID', `${path} is an OCI layout that is not a medium`, {
      hint: 'Choose another folder for the medium; this one is left as it is',
    });
  }
  // Parts that were copied there by hand are not a medium of this volume.
  if (!isFilled) return target(path, 'directory', openPlainFiles(path));
  try {
    return target(path, 'directory', await openMedium(path, open));
  } catch (error) {
    // Only its recipients can read a sealed set; reports that agents left beside it are plain.
    if (isFleetError(error, 'MEDIUM_SEALED') || isFleetError(error, 'NOT_A_RECIPIENT'))
      return target(path, 'directory', openPlainFiles(path));
    // The name shows that the file is ours; a damaged one is replaced.
    const isDamaged =
      isFleetError(error) && (isSet ? [4, 5].includes(error.exitCode) : DAMAGED.includes(error.code));
    if (!isDamaged) throw error;
    const note = `the medium at ${path} was damaged and is written again: ${error.message}`;
    return target(path, 'directory', openPlainFiles(path), [note]);
  }
};

const DAMAGED: readonly string[] = ['BAD_JSON', 'TOO_DEEP', 'TOO_LARGE', 'SCHEMA'];

const openFile = async (path: string): Promise<Target> => {
  // On FAT, a volume pulled during the rename leaves an empty tar, which may be replaced.
  if (path.endsWith('.tar') && (await statOptional(path))?.size === 0) return target(path, 'tar', undefined);
  try {
    const before = await openMedium(path);
    if (before.medium) return target(path, 'tar', before);
    await before[Symbol.asyncDispose]();
  } catch (error) {
    if (!isFleetError(error) || error.exitCode !== 4) throw error;
  }
  throw new FleetError('MEDIUM_INVALID', `${path} exists and is not a medium`, {
    hint: 'Delete it first if it may be replaced',
  });
};

const statOptional = async (path: string) => {
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw toFleetError(error, `opening ${path}`);
  }
};
