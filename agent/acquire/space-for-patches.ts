import { MAX_UNCOMPRESSED } from '#bundles/delta/limits';
import { openPatch } from '#bundles/delta/open-patch';
import { isFleetError } from '#bundles/errors';
import type { Delta, OpenMedium } from '#bundles/medium/medium';
import { readPatch } from '#bundles/medium/read-patch';
import type { Agent } from '../agent.ts';
import { checkAborted } from '../journal/boundary.ts';
import { checkSpace, onDisk, SPARE } from './free-space.ts';

/**
 * Is there room for the blobs that patches make, and at each moment for the content of the one base that is unpacked beside
 * those made by then? @throws FleetError DISK_FULL with the numbers
 */
export const checkSpaceForPatches = async (
  agent: Agent,
  medium: OpenMedium,
  deltas: readonly Delta[],
): Promise<void> => {
  const all = deltas.reduce((sum, { size }) => sum + onDisk(size), 0);
  // Patches are read twice only where that matters: none is made of more.
  const isPlenty = (await agent.freeBytes(agent.state.directory)) >= all + MAX_UNCOMPRESSED + SPARE;
  if (isPlenty) return;
  let made = 0;
  let most = 0;
  for (const delta of deltas) {
    checkAborted(agent.signal);
    made += onDisk(delta.size);
    most = Math.max(most, made + onDisk(await unpackedSize(agent, medium, delta)));
  }
  await checkSpace(agent, deltas, most);
};

/** As the patch says it: what is wrong with that is told when its turn comes. */
const unpackedSize = async ({ state, images }: Agent, medium: OpenMedium, delta: Delta): Promise<number> => {
  const isInStore = (await state.blobs.size(delta.base)) !== undefined;
  // Read where it lies, or not here at all.
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
