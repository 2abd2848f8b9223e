import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import type { OwnerToSet } from '../host-step.ts';
import { type Ids, readAccounts, resolveOwner } from '../live/accounts.ts';
import { type Folder, openFolder } from '../live/open-folder.ts';

/** The owner to set by numbers. @throws FleetError APPLY_FAILED if an account is still missing */
export const ownerNow = async (
  { root }: HostTargetOptions,
  path: string,
  owner: OwnerToSet,
): Promise<Ids | null> => {
  if (owner === null || 'uid' in owner) return owner;
  const entry = { path, owner: owner.user, group: owner.group };
  return resolveOwner(await readAccounts(root), entry, true) ?? null;
};

/** Opens the parent directory of `path`. @throws FleetError APPLY_FAILED if it is missing */
export const openParent = async (root: string, path: string): Promise<Folder> => {
  const parent = posix.dirname(path);
  const folder = await openFolder(root, parent);
  if (folder) return folder;
  throw new FleetError('APPLY_FAILED', `the directory ${parent} is missing, so ${path} cannot be made`, {
    hint: 'It went away after the plan was made: run it again',
  });
};
