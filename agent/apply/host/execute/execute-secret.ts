import { statfs } from 'node:fs/promises';
import { posix } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { SecretDetail, SecretRemovalDetail } from '../host-step.ts';
import { type Folder, openFolder } from '../live/open-folder.ts';
import { NO_BYTES, readEntryIn } from '../live/read-entry.ts';
import { markUnitsStale } from './execute-file.ts';
import { openParent, ownerNow } from './open-parent.ts';
import { putFile, readReplaceable, removeFile } from './put-file.ts';

/** File systems that exist in memory only, by their statfs(2) magic numbers. */
const IN_MEMORY: ReadonlySet<number> = new Set([0x01021994, 0x858458f6]);

/**
 * Writes a file of a secret to a file system in memory. Replaces an existing file without a copy, because it may hold the previous
 * secret. @throws FleetError APPLY_FAILED if the file would be on a disk
 */
export const executeSecret = async (
  options: HostTargetOptions,
  step: Step,
  detail: SecretDetail,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { path } = detail;
  const secret = wanted?.secrets.get(detail.named ?? path);
  if (!secret)
    throw new FleetError('APPLY_FAILED', `the plan for ${path} was made for another package`, {
      hint: 'Plan again',
    });
  await using folder = await openParent(options.root, path);
  await checkInMemory(options, folder, path);
  const name = posix.basename(path);
  const live = await readReplaceable(folder, name, path, { maxBytes: secret.size, signal });
  await markUnitsStale(options, detail.outdates);
  const owner = await ownerNow(options, path, detail.owner);
  await putFile({ folder, name, path, live }, secret, { mode: detail.mode, owner }, signal);
  return { key: step.key, outcome: step.outcome, reason: step.reason };
};

/** Checked only for root '/': with another root, the folder is an image in preparation and its /run may be on a disk. */
const checkInMemory = async ({ root }: HostTargetOptions, folder: Folder, path: string): Promise<void> => {
  if (root !== '/') return;
  const { type } = await statfs(folder.at('.'));
  if (IN_MEMORY.has(type)) return;
  throw new FleetError('APPLY_FAILED', `${path} would be on a disk: ${posix.dirname(path)} is not a tmpfs`, {
    hint: 'Mount a tmpfs there, or give the secret a path below /run that is one',
  });
};

export const executeSecretRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { path, outdates }: SecretRemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const done = { key: step.key, outcome: step.outcome, reason: step.reason };
  await using folder = await openFolder(options.root, posix.dirname(path));
  if (!folder) return done;
  const name = posix.basename(path);
  const live = await readEntryIn(folder, name, path, { maxBytes: NO_BYTES, signal });
  if (live.type === 'directory' || live.type === 'other')
    return { ...done, outcome: 'skipped', reason: 'it is no longer a regular file, so the agent leaves it' };
  await markUnitsStale(options, outdates);
  await removeFile(folder, name, path);
  return done;
};
