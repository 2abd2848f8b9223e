import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type Folder, openFolder } from '../live/open-folder.ts';

/** The folder that holds `path`. @throws FleetError APPLY_FAILED when it is not there */
export const openParent = async (root: string, path: string): Promise<Folder> => {
  const parent = posix.dirname(path);
  const folder = await openFolder(root, parent);
  if (folder) return folder;
  throw new FleetError('APPLY_FAILED', `the directory ${parent} is missing, so ${path} cannot be made`, {
    hint: 'It went away after the plan was made: run it again',
  });
};
