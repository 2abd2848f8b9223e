import { join } from 'node:path';
import { toFleetError } from '../../errors.ts';
import { lookAt, otherKind } from './kind-of.ts';
import {
  CHUNKS_FOLDER,
  DELTAS_FOLDER,
  MEDIUM_FILE,
  PARTS_FILE,
  PARTS_FOLDER,
  PROGRESS_FILE,
  RECEIPTS_FOLDER,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
} from './medium.ts';

const FOLDERS = [
  'fleet',
  'blobs',
  'blobs/sha256',
  CHUNKS_FOLDER,
  DELTAS_FOLDER,
  PARTS_FOLDER,
  RECEIPTS_FOLDER,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
];
const FILES = ['oci-layout', 'index.json', MEDIUM_FILE, PARTS_FILE, PROGRESS_FILE];

/**
 * Checks that the folders of a medium are folders and its files regular files, or do not exist: with links the creator of a medium could
 * choose what is read, written or removed on this machine. Opens nothing.
 * @throws FleetError MEDIUM_INVALID, PERMISSION, IO
 */
export const refuseOtherKinds = async (root: string): Promise<void> => {
  const check = async (path: string, due: 'file' | 'folder'): Promise<void> => {
    const at = join(root, path);
    const found = await lookAt(at).catch((error: unknown) => {
      throw toFleetError(error, `looking at ${at}`);
    });
    if (found && found.kind !== due) throw otherKind(at, found.kind, due);
  };
  for (const folder of FOLDERS) await check(folder, 'folder');
  for (const file of FILES) await check(file, 'file');
};
