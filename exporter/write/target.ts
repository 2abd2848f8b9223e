import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/medium/medium';
import { openMedium } from '#bundles/medium/open-medium';

/** Where the medium goes, and what is there now. */
export type Target = AsyncDisposable & {
  readonly path: string;
  readonly form: 'directory' | 'tar';
  /** Open for reading: a medium, or a stick that has at most requests and reports on it. */
  readonly before: OpenMedium | undefined;
  readonly notes: readonly string[];
};

/**
 * Looks before anything is written: what is there must be a medium or free.
 * @throws FleetError MEDIUM_INVALID for a file or layout that is something else, PERMISSION, IO
 */
export const openTarget = async (path: string): Promise<Target> => {
  const found = await statOptional(path);
  if (!found) return target(path, path.endsWith('.tar') ? 'tar' : 'directory', undefined);
  return found.isDirectory() ? openFolder(path) : openFile(path);
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

const openFolder = async (path: string): Promise<Target> => {
  let before: OpenMedium | undefined;
  const notes: string[] = [];
  try {
    before = await openMedium(path);
  } catch (error) {
    // Its name says that the file is ours; damaged, it is replaced.
    if (!isFleetError(error) || !DAMAGED.includes(error.code)) throw error;
    notes.push(`the medium at ${path} was damaged and is made anew: ${error.message}`);
    return target(path, 'directory', undefined, notes);
  }
  if (!before.medium && (await statOptional(join(path, 'index.json')))) {
    throw new FleetError('MEDIUM_INVALID', `${path} is an OCI layout that is no medium`, {
      hint: 'Choose another folder for the medium; this one is left as it is',
    });
  }
  return target(path, 'directory', before, notes);
};

const DAMAGED: readonly string[] = ['BAD_JSON', 'TOO_DEEP', 'TOO_LARGE', 'SCHEMA'];

const openFile = async (path: string): Promise<Target> => {
  try {
    const before = await openMedium(path);
    if (before.medium) return target(path, 'tar', before);
    await before[Symbol.asyncDispose]();
  } catch (error) {
    if (!isFleetError(error) || error.exitCode !== 4) throw error;
  }
  throw new FleetError('MEDIUM_INVALID', `${path} is there and is no medium`, {
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
