import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';

/** Properties of a block device from the kernel and udev, before any of its content is read. */
export type DeviceFacts = {
  /** Kernel name: sdb1. */
  readonly device: string;
  /** 'major:minor'. */
  readonly number: string;
  /** ID_FS_TYPE of udev: vfat, crypto_LUKS. */
  readonly fileSystem: string | undefined;
  readonly bytes: number;
};

/** Kernel names that need no escape in the name of a unit and are one component of a path. */
const DEVICE = /^[a-z][a-z0-9]{0,31}$/;

/** @throws FleetError USAGE for a name that is not a kernel name, MEDIUM_MISSING if the device is gone */
export const readDeviceFacts = async (device: string, root = '/'): Promise<DeviceFacts> => {
  if (!DEVICE.test(device))
    throw new FleetError('USAGE', `${JSON.stringify(device)} is not the kernel name of a device`, {
      hint: 'Name it like sdb1',
    });
  const folder = join(root, 'sys/class/block', device);
  const [number, sectors] = await Promise.all(
    ['dev', 'size'].map((file) => readFile(join(folder, file), 'utf8').catch(() => undefined)),
  );
  if (number === undefined || sectors === undefined)
    throw new FleetError('MEDIUM_MISSING', `there is no device ${device}`);
  const known = await readFile(join(root, 'run/udev/data', `b${number.trim()}`), 'utf8').catch(() => '');
  return {
    device,
    number: number.trim(),
    fileSystem: /^E:ID_FS_TYPE=(\S+)$/m.exec(known)?.[1],
    // The unit is 512 bytes, independent of the sector size of the device.
    bytes: Number(sectors) * 512,
  };
};
