import { mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkMounted, isUnmounted } from '#bundles/formats/medium/check-mounted';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev;
const isMounted = ![undefined, deviceOf('/')].includes(deviceOf('/media'));

/** A folder that a mount left behind; undefined where this user cannot make one. */
const leftBehind = (): string | undefined => {
  try {
    return mkdtempSync('/media/fleet-ferry-');
  } catch {
    return undefined;
  }
};

describe.skipIf(isMounted)('a path below a mount folder', () => {
  it.each(['/media/stikc', '/media/ada/stikc/', '/media/../mnt/x/plant-7.tar', '/run/media/nobody/stikc'])(
    'is refused when nothing is mounted there: %s',
    async (path) => {
      await expect(checkMounted(path)).rejects.toMatchObject({
        code: 'MEDIUM_MISSING',
        hint: expect.stringContaining('--force-path') as string,
      });
    },
  );

  it('is refused when the folder of an earlier mount is left, also through a symbolic link', async ({
    skip,
  }) => {
    const path = leftBehind();
    if (path === undefined) return skip('this user cannot make a folder in /media');
    try {
      symlinkSync('/tmp', join(path, 'link'));
      for (const one of [path, join(path, 'plant-7.tar'), join(path, 'link')])
        expect(await isUnmounted(one), one).toBe(true);
    } finally {
      rmSync(path, { recursive: true });
    }
  });
});

it('a path elsewhere, and a mount folder itself, are accepted', async () => {
  await using folder = await temporaryDirectory();
  for (const path of [folder.path, join(folder.path, 'media/stick'), '/mnt', '/media', 'media/stick'])
    expect(await isUnmounted(path), path).toBe(false);
});
