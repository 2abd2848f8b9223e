import { constants } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { posix } from 'node:path';
import { type Digest, hexOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../target.ts';
import { backUp, hasBackup } from '../backups.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import { hostError } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { FileDetail } from '../host-step.ts';
import type { Folder } from '../live/open-folder.ts';
import { type Entry, readEntryIn } from '../live/read-entry.ts';
import { temporaryName } from '../live/temporary-name.ts';
import { writeStarted } from '../systemd/started.ts';
import { openParent } from './open-parent.ts';
import { type Metadata, writeInto } from './write-into.ts';

/**
 * Makes a file what the plan says, looking again first: what was not ours to overwrite is saved, whenever it came;
 * bytes that are there already are not written again.
 */
export const executeFile = async (
  options: HostTargetOptions,
  step: Step,
  detail: FileDetail,
  wanted: Wanted | undefined,
): Promise<StepResult> => {
  const { path } = detail;
  const file = wanted?.files.get(path);
  if (file?.digest !== detail.digest)
    throw new FleetError('APPLY_FAILED', `the plan for ${path} was made for another package`, {
      hint: 'Plan again',
    });
  await using folder = await openParent(options.root, path);
  const name = posix.basename(path);
  const live = await readEntryIn(folder, name, path);
  if (live.type === 'directory' || live.type === 'other')
    throw new FleetError(
      'APPLY_FAILED',
      `${path} is ${live.type === 'other' ? 'no plain file' : 'a directory'}`,
    );

  const saved = await saveIfForeign(options, folder, name, path, live, detail.ours);
  await outdate(options, detail.outdates);
  if (live.type === 'file' && live.digest === detail.digest) {
    await adjust(folder, name, path, live, detail);
    await dropLeftover(folder, name, path, live);
  } else await writeInto(folder, name, file.bytes, detail, path);
  return { key: step.key, outcome: step.outcome, reason: [step.reason, ...saved].join('; ') };
};

/** Keeps a copy of what somebody else wrote; says so. The digest's beginning is its name in the backups folder. */
export const saveIfForeign = async (
  options: HostTargetOptions,
  folder: Folder,
  name: string,
  path: string,
  live: Entry,
  ours: readonly Digest[],
): Promise<readonly string[]> => {
  if (live.type === 'link') return [`it was a link to ${live.target}`];
  if (live.type !== 'file' || ours.includes(live.digest)) return [];
  if (!(await hasBackup(options.backups, live.digest))) await backUp(options.backups, folder, name, path);
  return [
    `a copy is kept as ${hexOf(live.digest).slice(0, shortDigest(live.digest).length - 'sha256:'.length)}`,
  ];
};

/** Before the change: see started.ts. */
export const outdate = async (options: HostTargetOptions, names: readonly string[]): Promise<void> => {
  for (const name of names) await writeStarted(options, name, 'stale');
};

/** Mode and owner alone: the file keeps its bytes and times. */
const adjust = async (
  folder: Folder,
  name: string,
  path: string,
  live: Extract<Entry, { type: 'file' }>,
  { mode, owner }: Metadata,
): Promise<void> => {
  const isOwner = !owner || (live.uid === owner.uid && live.gid === owner.gid);
  if (live.mode === mode && isOwner) return;
  try {
    await using file = await open(folder.at(name), constants.O_RDONLY | constants.O_NOFOLLOW);
    if (owner && !isOwner) await file.chown(owner.uid, owner.gid);
    await file.chmod(mode);
    await file.sync();
  } catch (error) {
    throw hostError(error, `setting mode and owner of ${path}`);
  }
};

const dropLeftover = async (folder: Folder, name: string, path: string, live: Entry): Promise<void> => {
  if (!live.leftover) return;
  try {
    await rm(folder.at(temporaryName(name)), { force: true });
    await folder.sync();
  } catch (error) {
    throw hostError(error, `removing the remains of an interrupted write to ${path}`);
  }
};
