import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import type { Agent } from '../../store/agent.ts';
import { freeBytesIn } from '../../store/state.ts';

/** Bytes to leave free for the journal, the outbox and the files of packages, which are written after the blobs. */
export const RESERVED_BYTES = 512 << 10;
const BLOCK = 4 << 10;
/** Bytes that a file occupies on disk, in whole blocks. */
export const onDisk = (size: number): number => Math.ceil(size / BLOCK) * BLOCK;

/**
 * Checks that there is room for all blobs, before the first byte is copied.
 * @param demanded least number of free bytes; 0 for no such limit
 * @param why end of a sentence about it
 * @throws FleetError DISK_FULL with the numbers
 */
export const checkSpace = async (
  { state, freeBytes }: Agent,
  blobs: readonly Pick<Descriptor, 'size'>[],
  demanded: number,
  why = '',
): Promise<void> => {
  if (blobs.length === 0) return;
  const total = blobs.reduce((sum, { size }) => sum + onDisk(size), 0);
  const needed = Math.max(total, demanded) + RESERVED_BYTES;
  const free = await freeBytes(state.directory);
  if (free >= needed) return;
  throw new FleetError(
    'DISK_FULL',
    `the release needs ${needed} bytes in ${state.directory}, of which ${RESERVED_BYTES} stay free${demanded > total ? why : ''}, and ${free} are free there`,
    {
      hint: `Free ${needed - free} bytes${free === 0 ? ', or inodes (df -i),' : ''} and import it again; nothing was changed`,
    },
  );
};

/** Free bytes of a disk, as an agent asks for them. */
export const freeBytesOf: Agent['freeBytes'] = async (directory) => freeBytesIn(directory);
