import { type Digest, hexOf, shortDigest } from '#bundles/digest';
import { formatBytes } from '#cli/format-bytes';
import { backUp, type Place } from '../backups/back-up.ts';
import { hasBackup } from '../backups/open-backup.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { Replaceable } from './put-file.ts';

/** The outcome of saving the content at a path before it is overwritten. */
export type Saved =
  | { readonly type: 'not foreign' }
  | { readonly type: 'link'; readonly target: string }
  | { readonly type: 'copied'; readonly digest: Digest }
  | { readonly type: 'not copied'; readonly size: number };

/** Copies content that the package did not write. @throws FleetError DISK_FULL, PERMISSION, IO, ABORTED */
export const saveIfForeign = async (
  options: HostTargetOptions,
  place: Place & { readonly live: Replaceable; readonly ours: readonly Digest[] },
  signal: AbortSignal,
): Promise<Saved> => {
  const { live, ours } = place;
  if (live.type === 'link') return { type: 'link', target: live.target };
  if (live.type !== 'file') return { type: 'not foreign' };
  const { digest, size } = live;
  if (digest !== null && ours.includes(digest)) return { type: 'not foreign' };
  if (digest !== null && (await hasBackup(options.backups, digest))) return { type: 'copied', digest };
  const copied = await backUp(options, place, signal);
  return copied === undefined ? { type: 'not copied', size } : { type: 'copied', digest: copied };
};

/** Text for the result of a step. It names the copy by the first digits of its digest, which begin its file name. */
export const describeSaved = (saved: Saved, { maxBackupBytes }: HostTargetOptions): readonly string[] => {
  switch (saved.type) {
    case 'not foreign':
      return [];
    case 'link':
      return [`it was a link to ${saved.target}`];
    case 'copied':
      return [
        `a copy is kept as ${hexOf(saved.digest).slice(0, shortDigest(saved.digest).length - 'sha256:'.length)}`,
      ];
    case 'not copied':
      return [
        `no copy is kept: its ${formatBytes(saved.size)} do not fit into the ${formatBytes(maxBackupBytes)} for copies (replacedMib)`,
      ];
    default:
      return saved satisfies never;
  }
};
