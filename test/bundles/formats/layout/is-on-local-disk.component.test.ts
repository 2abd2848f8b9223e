import { expect, it } from 'vitest';
import { isOnLocalDisk } from '#bundles/formats/layout/is-on-local-disk';

it.runIf(process.platform === 'linux').each([
  ['/dev/shm', true],
  // Not on a disk, as a network share is not.
  ['/proc', false],
  ['/not-there', undefined],
])('isOnLocalDisk of %s is %s', async (folder, isLocal) => {
  expect(await isOnLocalDisk(folder)).toBe(isLocal);
});
