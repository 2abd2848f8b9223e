import { stat } from 'node:fs/promises';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import { sum } from '#bundles/sum';
import type { Agent } from '../store/agent.ts';
import type { ImageTask } from './plan-images.ts';

/**
 * Checks that there is room for images where their providers store them, plus the blobs for the agent's store if both are on
 * one disk. A directory that is not visible to the agent (containerd's, from inside a pod) is not checked.
 * @param blobs blobs to copy into the agent's store
 * @throws FleetError DISK_FULL with the numbers
 */
export const checkImageSpace = async (
  { state, freeBytes, signal }: Pick<Agent, 'state' | 'freeBytes' | 'signal'>,
  tasks: readonly ImageTask[],
  blobs: readonly Descriptor[],
): Promise<void> => {
  for (const [provider, own] of Map.groupBy(tasks, (task) => task.provider)) {
    const directory = await provider.directory(signal);
    const device = directory === undefined ? undefined : await deviceOf(directory);
    if (directory === undefined || device === undefined) continue;
    const shared = device === (await deviceOf(state.directory)) ? blobs : [];
    const needed = sum(own.map(({ bytes }) => bytes)) + sum(shared.map(({ size }) => size));
    const free = await freeBytes(directory);
    if (free >= needed) continue;
    throw new FleetError(
      'DISK_FULL',
      `the images of the release need ${needed} bytes in ${directory} of ${provider.name}, and ${free} are free there`,
      { hint: `Free ${needed - free} bytes and import it again; nothing was changed` },
    );
  }
};

const deviceOf = async (directory: string): Promise<number | undefined> => {
  try {
    return (await stat(directory)).dev;
  } catch {
    return undefined;
  }
};
