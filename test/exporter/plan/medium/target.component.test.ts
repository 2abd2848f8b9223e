import { statSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openTarget } from '../../../../exporter/plan/medium/target.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const deviceOf = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.dev;
const isMounted = ![undefined, deviceOf('/')].includes(deviceOf('/media'));

describe('openTarget', () => {
  it
    .skipIf(isMounted)
    .each(['/media/stikc', '/media/ada/stikc/', '/media/stikc/plant-7.tar', '/run/media/nobody/stikc'])(
    'refuses a missing folder where removable media are mounted: %s',
    async (path) => {
      await expect(openTarget(path)).rejects.toMatchObject({
        code: 'MEDIUM_MISSING',
        hint: expect.stringContaining('mounted'),
      });
      await using target = await openTarget(path, {}, true);
      expect(target.before).toBeUndefined();
    },
  );

  it.each(['fleet', 'blobs'])('refuses the folder %s of another medium', async (name) => {
    await using folder = await temporaryDirectory();
    await mkdir(join(folder.path, 'fleet'));
    await writeFile(join(folder.path, 'fleet/medium.json'), '{}');
    await expect(openTarget(join(folder.path, name), {}, true)).rejects.toMatchObject({
      code: 'USAGE',
      hint: 'Give the top folder of the medium',
    });
  });

  it('accepts an empty tar, as FAT leaves it after a medium was pulled out, and refuses other content', async () => {
    await using folder = await temporaryDirectory();
    const path = join(folder.path, 'plant-7.tar');
    await writeFile(path, '');
    await using target = await openTarget(path);
    expect(target).toMatchObject({ form: 'tar', before: undefined });
    await writeFile(path, 'x');
    await expect(openTarget(path)).rejects.toMatchObject({ code: 'MEDIUM_INVALID' });
  });

  it('accepts a new folder or file elsewhere', async () => {
    await using folder = await temporaryDirectory();
    for (const [name, form] of [
      ['media/stick', 'directory'],
      ['plant-7.tar', 'tar'],
    ] as const) {
      await using target = await openTarget(join(folder.path, name));
      expect(target).toMatchObject({ form, before: undefined });
    }
  });
});
