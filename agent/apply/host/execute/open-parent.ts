import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import { type Folder, openFolder } from '../live/open-folder.ts';

/** Opens the parent directory of `path`. @throws FleetError APPLY_FAILED if it is missing */
export const openParent = async (root: string, path: string): Promise<Folder> => {
  const parent = posix.dirname(path);
  const folder = await openFolder(root, parent);
  if (folder) return folder;
  throw new FleetError('APPLY_FAILED', `the directory ${parent} is missing, so ${path} cannot be made`, {
    hint: 'It went away after the plan was made: run it again',
  });
};
