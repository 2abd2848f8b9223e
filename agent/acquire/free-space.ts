import { statfs } from 'node:fs/promises';
import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';

/** The journal, the outbox and what packages unpack come after the blobs: a disk filled to its last byte stops them. */
export const SPARE = 512 << 10;
const BLOCK = 4 << 10;
/** A file takes whole blocks. */
export const onDisk = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/**
 * Is there room for all of it, before the first byte is copied?
 * @param demanded bytes that the bundle asks for beyond its own size; 0 for nothing
 * @throws FleetError DISK_FULL with the numbers
 */
export const checkSpace = async (
  { state, freeBytes }: Agent,
  blobs: readonly Pick<Descriptor, 'size'>[],
  demanded: number,
): Promise<void> => {
  if (blobs.length === 0) return;
  const total = blobs.reduce((sum, { size }) => sum + onDisk(size), 0);
  const needed = Math.max(total, demanded) + SPARE;
  const free = await freeBytes(state.directory);
  if (free >= needed) return;
  throw new FleetError(
    'DISK_FULL',
    `this needs ${needed} bytes in ${state.directory}, ${SPARE} of them to spare, and ${free} are free there`,
    { hint: `Free ${needed - free} bytes and import it again; nothing was changed` },
  );
};

/** What an ordinary process may still write to the disk of a directory. */
export const freeBytesOf = async (directory: string): Promise<number> => {
  const { bavail, bsize } = await statfs(directory);
  return bavail * bsize;
};
