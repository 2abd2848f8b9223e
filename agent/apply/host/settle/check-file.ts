import { lstat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { HostCheck } from '#bundles/formats/bundle/host-package';
import { formatTime } from '#bundles/time';
import type { CheckResult } from '../../../model/target.ts';
import { errno } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { openFolder } from '../live/open-folder.ts';
import { untilTimeout } from './until-timeout.ts';

type FileCheck = Extract<HostCheck, { type: 'file' }>;

/** Times of files are rounded by up to 2 seconds (FAT), and a file server has a clock of its own. */
const AHEAD_MS = 5000;

/**
 * Passes if the file was modified at most `maxAgeSeconds` ago; a time in the future has no age. Retries until the timeout, because a service may still have to write it;
 * with `once` it looks a single time.
 */
export const checkFile = (
  { root }: Pick<HostTargetOptions, 'root'>,
  check: FileCheck,
  once: boolean,
  signal: AbortSignal,
): Promise<CheckResult> =>
  untilTimeout(check, { once, signal }, async () => {
    const { path, maxAgeSeconds } = check;
    const modified = await modifiedAt(root, path);
    if (modified === undefined) return { outcome: 'failed', message: `${path} does not exist` };
    if (modified - Date.now() > AHEAD_MS)
      return {
        outcome: 'failed',
        message: `${path} was last modified at ${formatTime(new Date(modified))}, which is in the future: the clock of this host or of what wrote the file is wrong`,
      };
    if (Date.now() - modified < (maxAgeSeconds + 1) * 1000)
      return { outcome: 'passed', message: `${path} was modified at most ${maxAgeSeconds} s ago` };
    // Not its age: the same failure has the same message, and is reported once.
    const at = formatTime(new Date(modified));
    return {
      outcome: 'failed',
      message: `${path} was last modified at ${at}, more than ${maxAgeSeconds} s ago`,
    };
  });

const modifiedAt = async (root: string, path: string): Promise<number | undefined> => {
  await using folder = await openFolder(root, dirname(path));
  if (!folder) return undefined;
  try {
    return (await lstat(folder.at(basename(path)))).mtimeMs;
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw error;
  }
};
