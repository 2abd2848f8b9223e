import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { asRoot } from './as-root.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

/** A loop device without a file: `path` is /dev/loop801, `number` is 7:801. */
export type LoopDevice = { readonly path: string; readonly number: string };

/** `losetup -f` of other processes gets the lowest free number and not these. */
const FIRST = 200;
const PROCESSES = 400;

/** Makes loop devices, at most two, that no other process gets while they have no file. */
export const loopDevices = async (count: 1 | 2): Promise<readonly LoopDevice[]> => {
  await using folder = await temporaryDirectory('loop');
  const file = join(folder.path, 'file');
  await writeFile(file, Buffer.alloc(4096));
  const devices: LoopDevice[] = [];
  for (let index = 0; index < count; index += 1) {
    const minor = FIRST + 2 * (process.pid % PROCESSES) + index;
    const path = `/dev/loop${minor}`;
    // Naming a device that does not exist makes it.
    await runOrFail(asRoot(['losetup', path, file]));
    await runOrFail(asRoot(['losetup', '-d', path]));
    devices.push({ path, number: `7:${minor}` });
  }
  return devices;
};
