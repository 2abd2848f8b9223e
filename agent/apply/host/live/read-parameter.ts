import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errno, hostError } from '../host-error.ts';
import { words } from './sysctl-lines.ts';

/** The state of a parameter in the kernel. */
export type Parameter =
  | {
      readonly state: 'set';
      readonly value: string /** Not every user may read it. */;
      readonly isPrivate: boolean;
    }
  /** It has no mode for reading: writing triggers something (net.ipv4.route.flush). */
  | { readonly state: 'write-only' }
  /** The kernel refuses to read it: it has no value yet (stable_secret), or this process may not. */
  | { readonly state: 'unreadable'; readonly why: string }
  /** `isKnown`: its folder is there, so the name is wrong or a module that adds to the folder is not loaded. */
  | { readonly state: 'absent'; readonly isKnown: boolean };

/** @param path below /proc/sys @throws FleetError IO, PERMISSION if not even its mode can be read */
export const readParameter = async (path: string): Promise<Parameter> => {
  // Neither '..' nor an absolute path leads out of /proc/sys.
  if (path.split('/').some((part) => /^\.{0,2}$/.test(part))) return { state: 'absent', isKnown: true };
  const file = join('/proc/sys', path);
  const mode = await modeOf(file);
  if (mode === undefined) return { state: 'absent', isKnown: (await modeOf(dirname(file))) !== undefined };
  if ((mode & 0o444) === 0) return { state: 'write-only' };
  try {
    return { state: 'set', value: words(await readFile(file, 'utf8')), isPrivate: (mode & 0o004) === 0 };
  } catch (error) {
    // Its interface or module went in between.
    if (errno(error) === 'ENOENT') return { state: 'absent', isKnown: false };
    return { state: 'unreadable', why: errno(error) ?? 'unknown' };
  }
};

const modeOf = async (file: string): Promise<number | undefined> => {
  try {
    return (await stat(file)).mode;
  } catch (error) {
    if (errno(error) === 'ENOENT' || errno(error) === 'ENOTDIR') return undefined;
    throw hostError(error, `reading ${file}`);
  }
};
