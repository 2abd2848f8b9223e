import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readDeviceFacts } from '../../../../agent/daemon/plug-in/device-facts.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

it('reads the size from the kernel and the file system from udev', async () => {
  await using folder = await temporaryDirectory('device-facts');
  const device = join(folder.path, 'sys/class/block/sdb1');
  const known = join(folder.path, 'run/udev/data');
  await mkdir(device, { recursive: true });
  await mkdir(known, { recursive: true });
  await writeFile(join(device, 'dev'), '8:17\n');
  await writeFile(join(device, 'size'), '4096\n');
  await writeFile(join(known, 'b8:17'), 'S:disk/by-label/X\nE:ID_FS_TYPE=vfat\nE:ID_BUS=usb\n');
  expect(await readDeviceFacts('sdb1', folder.path)).toEqual({
    device: 'sdb1',
    number: '8:17',
    fileSystem: 'vfat',
    bytes: 2 << 20,
  });
});

it('refuses a name that is a path, and a device that is gone', async () => {
  await expect(readDeviceFacts('../sda')).rejects.toMatchObject({ code: 'USAGE' });
  await using folder = await temporaryDirectory('device-facts');
  await expect(readDeviceFacts('sdb1', folder.path)).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
});
