import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { formatBytes } from '#cli/format-bytes';
import type { Step, StepResult } from '../../../model/target.ts';
import { hasBackup } from '../backups/open-backup.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { FileDetail } from '../host-step.ts';
import { isOwnedByUs } from '#bundles/file-protection';
import { asJson, snapshot } from '../owned/owned-state.ts';
import { describeKept, keptMode } from '../owned/kept-mode.ts';
import { writeStarted } from '../systemd/started.ts';
import { openParent, ownerNow } from './open-parent.ts';
import { putFile, type Replaceable, readReplaceable } from './put-file.ts';
import { describeSaved, type Saved, saveIfForeign } from './save-if-foreign.ts';

/**
 * Brings a file to its planned state. Reads the live file again first and copies content that the package did not write, even if it
 * appeared after the plan. Identical bytes are not written again.
 */
export const executeFile = async (
  options: HostTargetOptions,
  step: Step,
  detail: FileDetail,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { path } = detail;
  const file = wanted?.files.get(detail.named ?? path);
  if (file?.digest !== detail.digest)
    throw new FleetError('APPLY_FAILED', `the plan for ${path} was made for another package`, {
      hint: 'Plan again',
    });
  await using folder = await openParent(options.root, path);
  const name = posix.basename(path);
  const maxBytes = Math.max(file.size, detail.largest ?? 0, options.maxBackupBytes);
  const live = await readReplaceable(folder, name, path, { maxBytes, signal });

  const saved = await saveIfForeign(options, { folder, name, path, live, ours: detail.ours }, signal);
  if (saved.type === 'not copied' && detail.putsBack !== undefined)
    refuseUncopied(options, path, live, file.digest);
  await markUnitsStale(options, detail.outdates);
  const owner = await ownerNow(options, path, detail.owner);
  const made = await putFile({ folder, name, path, live }, file, { mode: detail.mode, owner }, signal);
  const kept = keptMode(detail.mode, made);
  const reason = [step.reason, ...describeSaved(saved, options), ...describeKept(kept)].join('; ');
  const restored = await describeRestored(options, detail, live, saved);
  return defined({
    key: step.key,
    outcome: step.outcome,
    reason,
    state: restored || kept ? defined({ ...restored, kept }) : undefined,
  });
};

/** @throws FleetError APPLY_FAILED if the first copy, which the removal of the package restores, exceeds the limit */
const refuseUncopied = (
  { maxBackupBytes }: HostTargetOptions,
  path: string,
  live: Replaceable,
  wanted: Digest,
): void => {
  if (live.type !== 'file' || live.digest === wanted || !isOwnedByUs(live.uid)) return;
  const [size, room] = [live.size, maxBackupBytes].map(formatBytes);
  throw new FleetError(
    'APPLY_FAILED',
    `${path} was there before the package, and its ${size} do not fit into the ${room} for copies of replaced files`,
    { hint: 'Move it away, or raise replacedMib in the configuration of the agent' },
  );
};

/** The file may have changed since the plan, or could not be copied: then the removal restores the newer file, or none. */
const describeRestored = async (
  options: HostTargetOptions,
  { putsBack }: FileDetail,
  live: Replaceable,
  saved: Saved,
): Promise<StepResult['state']> => {
  if (putsBack === undefined || putsBack === null || (await hasBackup(options.backups, putsBack)))
    return undefined;
  const replaced = saved.type === 'copied' ? snapshot(live, saved.digest) : undefined;
  return { replaced: replaced ? asJson(replaced) : null };
};

/** Marks the units as stale before the change (started.ts). */
export const markUnitsStale = async (options: HostTargetOptions, names: readonly string[]): Promise<void> => {
  for (const name of names) await writeStarted(options, name, 'stale');
};
