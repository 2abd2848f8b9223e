import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { readRegularFile } from '#bundles/formats/archive/read-regular-file';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';

/**
 * The backup that a layout and its database are being restored from. The file is there from before the first byte is copied until
 * numbers, revocations and the audit log are those of the newest copy that is known.
 */
export type UnfinishedRestore = {
  /** The folder of the backup. */
  readonly from: string;
  /** When the backup was made. */
  readonly at: Timestamp;
};

/** The command that may write to the layout meanwhile. */
export const RESTORE = 'restore';

const FILE = 'fleet-scheduler-restore.json';

/** @returns undefined if no restore is under way @throws FleetError LAYOUT_INVALID, MEDIUM_INVALID, PERMISSION, IO */
export const readUnfinishedRestore = async (layout: string): Promise<UnfinishedRestore | undefined> => {
  const file = join(layout, FILE);
  try {
    const { from, at } = parseJson(
      (await readRegularFile(file)).toString('utf8'),
    ) as Partial<UnfinishedRestore>;
    return { from: String(from), at: String(at) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `reading ${file}`);
  }
};

/**
 * Refuses to write to a layout, or to its database, while an older copy is restored: numbers would be given out again, and what was
 * revoked since the backup would count.
 * @throws FleetError LAYOUT_INVALID; of readUnfinishedRestore
 */
export const refuseUnfinishedRestore = async (layout: string): Promise<void> => {
  const unfinished = await readUnfinishedRestore(layout);
  if (!unfinished) return;
  throw new FleetError(
    'LAYOUT_INVALID',
    `the restore of ${layout} from the backup of ${unfinished.at} did not end, and numbers would be given out again`,
    { hint: `Run it again: fleet-scheduler restore ${unfinished.from}` },
  );
};

/** @throws FleetError DISK_FULL, PERMISSION, IO */
export const beginRestore = async (layout: string, { from, at }: UnfinishedRestore): Promise<void> => {
  const file = join(layout, FILE);
  try {
    await writeFileAtomically(file, Buffer.from(`${JSON.stringify({ from, at }, null, 2)}\n`));
  } catch (error) {
    throw toFleetError(error, `writing ${file}`);
  }
};

/** @throws FleetError PERMISSION, IO */
export const endRestore = async (layout: string): Promise<void> => {
  const file = join(layout, FILE);
  try {
    await rm(file, { force: true });
    await syncDirectory(layout);
  } catch (error) {
    throw toFleetError(error, `removing ${file}`);
  }
};
