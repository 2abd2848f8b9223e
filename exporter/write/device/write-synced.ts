import { open, truncate } from 'node:fs/promises';
import { writeAll, writeBehind } from '#bundles/formats/layout/write-behind';

/** Bytes between two syncs of a growing file. At most twice as many are in the page cache. */
const SYNC_EVERY = 32 << 20;

export type WriteSyncedOptions = {
  readonly from?: number;
  readonly onSynced?: (offset: number) => void;
};

/**
 * Writes a file and syncs it. A large file is synced while it grows, so that progress follows the device and the last sync is short.
 * @param content chunks, each valid until it is written
 * @param from offset at which an existing file is continued; 0: the file must not exist
 * @param onSynced called after each sync with the offset up to which the file is on the device
 * @throws errors of the file system, `content` and `onSynced`
 */
export const writeSynced = async (
  path: string,
  content: AsyncIterable<Uint8Array>,
  { from = 0, onSynced = () => {} }: WriteSyncedOptions = {},
): Promise<void> => {
  if (from > 0) await truncate(path, from);
  const file = await open(path, from > 0 ? 'a' : 'wx', 0o644);
  let written = from;
  let begun = from;
  let syncing = Promise.resolve();
  const sync = async (offset: number): Promise<void> => {
    await file.datasync();
    onSynced(offset);
  };
  try {
    await writeBehind(content, async (chunks) => {
      await writeAll(file, chunks);
      for (const { byteLength } of chunks) written += byteLength;
      if (written - begun < SYNC_EVERY) return;
      await syncing;
      begun = written;
      syncing = sync(written);
      syncing.catch(() => {});
    });
    await syncing;
    await file.sync();
    onSynced(written);
  } finally {
    await syncing.catch(() => {});
    await file.close();
  }
};
