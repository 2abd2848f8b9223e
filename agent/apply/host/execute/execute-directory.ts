import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rmdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import { errno, hostError } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { DirectoryDetail, DirectoryRemovalDetail } from '../host-step.ts';
import { inDirectory } from '../live/held-directory.ts';
import { type Folder, openFolder } from '../live/open-folder.ts';
import { isOwnedByUs } from '#bundles/file-protection';
import { openParent, ownerNow } from './open-parent.ts';
import { type Metadata, setMetadata } from './set-metadata.ts';
import { describeKept, keptMode } from '../owned/kept-mode.ts';

const PARENT_MODE = 0o755;

/** Creates a directory, or sets mode and owner of an existing one. */
export const executeDirectory = async (
  options: HostTargetOptions,
  step: Step,
  { path, mode, owner: wanted }: DirectoryDetail,
): Promise<StepResult> => {
  const owner = await ownerNow(options, path, wanted);
  await using parent = await openParent(options.root, path);
  const made = await make(parent, path);
  if (!made && mode === null) return { key: step.key, outcome: step.outcome, reason: step.reason };
  const has = await changeMetadata(parent, path, { mode: mode ?? PARENT_MODE, owner });
  const kept = mode === null ? undefined : keptMode(mode, has);
  const reason = [step.reason, ...describeKept(kept)].join('; ');
  return defined({ key: step.key, outcome: step.outcome, reason, state: kept && { kept } });
};

const make = async (parent: Folder, path: string): Promise<boolean> => {
  try {
    await mkdir(parent.at(posix.basename(path)), 0o700);
    await parent.sync();
    return true;
  } catch (error) {
    if (errno(error) === 'EEXIST') return false;
    throw hostError(error, `making the directory ${path}`);
  }
};

const changeMetadata = async (parent: Folder, path: string, metadata: Metadata): Promise<number> => {
  try {
    await using directory = await open(
      parent.at(posix.basename(path)),
      constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW,
    );
    if (!parent.trusted) await refuseWidening(directory, path, metadata);
    const mode = await setMetadata(directory, metadata, path);
    await directory.sync();
    return mode;
  } catch (error) {
    throw hostError(error, `setting mode and owner of ${path}`);
  }
};

/**
 * Refuses to give a non-empty directory of root to another user or to widen its mode. Otherwise a user who can rename entries of the
 * parent could move a private directory of root to this path, and the agent would open it to others.
 * @throws FleetError APPLY_FAILED
 */
const refuseWidening = async (
  directory: FileHandle,
  path: string,
  { mode, owner }: Metadata,
): Promise<void> => {
  const { uid, mode: before } = await directory.stat();
  const opens = (owner !== null && !isOwnedByUs(owner.uid)) || (mode & ~before & 0o077) !== 0;
  if (!isOwnedByUs(uid) || !opens) return;
  const names = await readdir(inDirectory(directory, path, '.'));
  if (names.length > 0)
    throw new FleetError(
      'APPLY_FAILED',
      `${path} belongs to root and has files in it, and its parent can be changed by other users: the agent does not give it the mode or owner of the package`,
      { hint: 'Set its mode and owner by hand, or move it away' },
    );
};

/** Removes an empty directory that the package created; restores mode and owner of one that existed before. */
export const executeDirectoryRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { path, created, replaced }: DirectoryRemovalDetail,
): Promise<StepResult> => {
  const done = { key: step.key, outcome: step.outcome, reason: step.reason };
  await using parent = await openFolder(options.root, posix.dirname(path));
  if (!parent) return done;
  if (!created) {
    if (replaced) {
      const { mode, uid, gid } = replaced;
      await changeMetadata(parent, path, { mode, owner: options.isRoot ? { uid, gid } : null });
    }
    return done;
  }
  try {
    await rmdir(parent.at(posix.basename(path)));
    await parent.sync();
  } catch (error) {
    const code = errno(error);
    if (code === 'ENOTEMPTY' || code === 'EEXIST')
      return {
        key: step.key,
        outcome: 'skipped',
        reason: 'not empty: it holds what the package does not own',
      };
    if (code === 'ENOTDIR') return { key: step.key, outcome: 'skipped', reason: 'it is not a directory now' };
    if (code !== 'ENOENT') throw hostError(error, `removing the directory ${path}`);
  }
  return done;
};
