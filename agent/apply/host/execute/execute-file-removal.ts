import { posix } from 'node:path';
import type { Step, StepResult } from '../../../model/target.ts';
import { openBackup } from '../backups/open-backup.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { FileRemovalDetail } from '../host-step.ts';
import { isRestored } from '../owned/is-restored.ts';
import { openFolder } from '../live/open-folder.ts';
import { readEntryIn } from '../live/read-entry.ts';
import { markUnitsStale } from './execute-file.ts';
import { removeFile } from './put-file.ts';
import { describeSaved, saveIfForeign } from './save-if-foreign.ts';
import { linkInto, writeInto } from './write-into.ts';

/** Deletes a file of the package, or restores the file that it replaced. A file that was changed locally is copied first. */
export const executeFileRemoval = async (
  options: HostTargetOptions,
  step: Step,
  { path, ours, largest = 0, replaced, outdates }: FileRemovalDetail,
  signal: AbortSignal,
): Promise<StepResult> => {
  const result = (reason: string, outcome = step.outcome): StepResult => ({ key: step.key, outcome, reason });
  await using folder = await openFolder(options.root, posix.dirname(path));
  if (!folder)
    return replaced
      ? result('its directory is gone, so nothing is restored', 'skipped')
      : result(step.reason);
  const name = posix.basename(path);
  const maxBytes = Math.max(largest, options.maxBackupBytes);
  const live = await readEntryIn(folder, name, path, { maxBytes, signal });
  if (live.type === 'directory' || live.type === 'other')
    return result('it is no longer a regular file, so the agent leaves it', 'skipped');
  if (replaced && isRestored(live, replaced, options.isRoot) && !live.leftover) return result(step.reason);

  const saved = await saveIfForeign(options, { folder, name, path, live, ours }, signal);
  await markUnitsStale(options, outdates);
  if (replaced) {
    const owner = options.isRoot ? { uid: replaced.uid, gid: replaced.gid } : null;
    if (replaced.type === 'link') await linkInto(folder, name, replaced.target, owner, path);
    else {
      const content = await openBackup(options.backups, replaced.digest, path);
      await writeInto(folder, name, content, { mode: replaced.mode, owner }, path);
    }
  } else await removeFile(folder, name, path);
  return result([step.reason, ...describeSaved(saved, options)].join('; '));
};
