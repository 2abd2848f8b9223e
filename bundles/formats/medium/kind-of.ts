import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { FleetError } from '../../errors.ts';

/** Kind of a directory entry; links are not followed. */
export type Kind = 'file' | 'folder' | 'link' | 'pipe' | 'socket' | 'device';

export type Found = { readonly kind: Kind; readonly size: number };

/** Undefined when nothing exists there, also below a file. @throws the system's other errors */
export const lookAt = async (path: string): Promise<Found | undefined> => {
  try {
    const found = await lstat(path);
    return { kind: kindOf(found), size: found.size };
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
};

const kindOf = (found: Stats): Kind => {
  if (found.isSymbolicLink()) return 'link';
  if (found.isDirectory()) return 'folder';
  if (found.isFile()) return 'file';
  if (found.isFIFO()) return 'pipe';
  return found.isSocket() ? 'socket' : 'device';
};

/** @param due the kind that a medium must have in this place */
export const otherKind = (path: string, kind: Kind, due: 'file' | 'folder'): FleetError =>
  new FleetError('MEDIUM_INVALID', `${path} is a ${kind}, not a ${due}`, {
    hint:
      kind === 'link'
        ? 'No program follows a link on a medium; use one that fleet-export has filled, or an empty one'
        : 'Use a medium that fleet-export has filled, or an empty one',
  });
