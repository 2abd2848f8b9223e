import { MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import { openPatch } from '#bundles/formats/delta/open-patch';
import { isFleetError } from '#bundles/errors';
import type { Delta, OpenMedium } from '#bundles/formats/medium/medium';
import { readPatch } from '#bundles/formats/medium/read-patch';
import type { Agent } from '../../store/agent.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { checkSpace, onDisk, RESERVED_BYTES } from './free-space.ts';

/**
 * Checks that there is room for all rebuilt blobs, and at each step for the unpacked base beside the blobs rebuilt by then.
 * @throws FleetError DISK_FULL with the numbers
 */
export const checkSpaceForPatches = async (
  agent: Agent,
  medium: OpenMedium,
  deltas: readonly Delta[],
): Promise<void> => {
  const all = deltas.reduce((sum, { size }) => sum + onDisk(size), 0);
  // The exact calculation reads each patch an extra time, so it runs only if the upper bound does not fit.
  const hasEnoughSpace =
    (await agent.freeBytes(agent.state.directory)) >= all + MAX_UNCOMPRESSED + RESERVED_BYTES;
  if (hasEnoughSpace) return;
  let made = 0;
  let most = 0;
  for (const delta of deltas) {
    checkAborted(agent.signal);
    made += onDisk(delta.size);
    most = Math.max(most, made + onDisk(await unpackedSize(agent, medium, delta)));
  }
  await checkSpace(agent, deltas, most);
};

/** Unpacked size of the base according to the patch; an invalid patch is reported when it is applied. */
const unpackedSize = async ({ state, images }: Agent, medium: OpenMedium, delta: Delta): Promise<number> => {
  const isInStore = (await state.blobs.size(delta.base)) !== undefined;
  // The base is read in place, or is not available.
  if (isInStore ? delta.form === 'plain' : images.length === 0) return 0;
  try {
    const { reader, oldSize } = await openPatch([await readPatch(medium, delta)]);
    await reader.close();
    return Math.min(oldSize, MAX_UNCOMPRESSED);
  } catch (error) {
    if (isFleetError(error)) return 0;
    throw error;
  }
};
