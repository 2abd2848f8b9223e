import { expect, it } from 'vitest';
import { isOnLocalDisk } from '#bundles/formats/layout/is-on-local-disk';

it.runIf(process.platform === 'linux').each([
  ['/dev/shm', true],
  // Not a disk, as a share of the network: served by a program that may not answer.
  ['/proc', false],
  ['/not-there', false],
])('tells a folder on a disk of this machine from others: %s', async (folder, isLocal) => {
  expect(await isOnLocalDisk(folder)).toBe(isLocal);
});
