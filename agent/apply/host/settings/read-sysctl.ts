import { readFile } from 'node:fs/promises';
import { errno, hostError } from '../host-error.ts';

/** A kernel parameter of a settings file that has another value now; undefined if the kernel has no such parameter. */
export type SysctlDifference = {
  readonly name: string;
  readonly wanted: string;
  readonly live: string | undefined;
};

/**
 * Compares the lines `name = value` of a sysctl.d file with the kernel. Patterns, exclusions and lines that may fail (`-name`) are not
 * compared. @throws FleetError PERMISSION, IO
 */
export const sysctlDifferences = async (bytes: Buffer): Promise<readonly SysctlDifference[]> => {
  const differences: SysctlDifference[] = [];
  for (const [name, wanted] of valuesIn(bytes.toString('utf8'))) {
    const live = await readValue(name);
    if (live !== wanted) differences.push({ name, wanted, live });
  }
  return differences;
};

/** The last value of each name counts, as in sysctl.d(5). */
const valuesIn = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text.split('\n').flatMap((line) => {
      const found = /^\s*([A-Za-z0-9_][^=\s*?[]*)\s*=\s*(.*?)\s*$/.exec(line);
      return found?.[1] === undefined || found[2] === undefined ? [] : [[found[1], words(found[2])] as const];
    }),
  );

/** The separator that comes first decides: a.b/c is a/b.c below /proc/sys, a/b.c is itself. */
const pathOf = (name: string): string => {
  const separator = /[./]/.exec(name)?.[0];
  const path = separator === '.' ? name.replaceAll(/[./]/g, (found) => (found === '.' ? '/' : '.')) : name;
  return `/proc/sys/${path}`;
};

const readValue = async (name: string): Promise<string | undefined> => {
  // Neither '..' nor an absolute path leads out of /proc/sys.
  if (name.split(/[./]/).includes('')) return undefined;
  try {
    return words(await readFile(pathOf(name), 'utf8'));
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw hostError(error, `reading the kernel parameter ${name}`);
  }
};

const words = (text: string): string => text.trim().split(/\s+/).join(' ');
