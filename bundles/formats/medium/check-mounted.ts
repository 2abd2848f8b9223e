import { existsSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { FleetError } from '../../errors.ts';
import { MEDIUM_FILE } from './medium.ts';

/** Where systems mount media. */
const MOUNT_FOLDERS = /^\/(?:run\/media|media|mnt|Volumes)(?=\/)/;

/**
 * Refuses a path below a mount folder where nothing is mounted: the files would be written to the disk of this machine instead of the
 * medium.
 * @throws FleetError MEDIUM_MISSING
 */
export const checkMounted = async (path: string): Promise<void> => {
  if (!(await isUnmounted(path))) return;
  throw new FleetError('MEDIUM_MISSING', `${path} is on the disk of this machine: nothing is mounted there`, {
    hint: 'Check that the stick is mounted and the path is right. --force-path writes to the disk of this machine',
  });
};

/** Refuses the folder `fleet` or `blobs` of a medium: nobody looks there for reports or another medium. @throws FleetError USAGE */
export const refuseInside = (path: string): void => {
  const folder = resolve(path);
  const top = dirname(folder);
  if (!['fleet', 'blobs'].includes(basename(folder)) || !existsSync(join(top, MEDIUM_FILE))) return;
  throw new FleetError('USAGE', `${path} is a folder of the medium ${top}`, {
    hint: 'Give the top folder of the medium',
  });
};

/** Whether a path is below a mount folder, and neither it nor a folder above it is a mount point. */
export const isUnmounted = async (given: string): Promise<boolean> => {
  const path = resolve(given);
  const base = MOUNT_FOLDERS.exec(path)?.[0];
  if (base === undefined) return false;
  let folder = path;
  while ((await deviceOf(folder)) === undefined) folder = dirname(folder);
  if ((await deviceOf(folder)) !== (await deviceOf(dirname(base)))) return false;
  return !(await isBelowBind(await realpath(folder)));
};

const deviceOf = async (path: string): Promise<number | undefined> =>
  (await stat(path).catch(() => undefined))?.dev;

/** A bind mount of the same disk, as in containers, has the same device number as the folder around it. */
const isBelowBind = async (path: string): Promise<boolean> => {
  const mounts = await readFile('/proc/self/mountinfo', 'utf8').catch(() => '');
  return mounts.split('\n').some((line) => {
    const point = line
      .split(' ')[4]
      ?.replaceAll(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    return point !== undefined && point !== '/' && `${path}/`.startsWith(`${point}/`);
  });
};
