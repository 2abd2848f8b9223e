import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atEnd } from '../run/at-end.ts';

type Sweep = (folder: string) => void;

const claimed = new Map<string, Sweep>();
let sweeps = false;

/**
 * A new folder for a host in the cache, marked as this process's and swept when this process exits. Folders whose
 * process is gone are swept first; runs side by side leave each other's alone. `sweep` must be synchronous.
 */
export const claimHostFolder = async (cache: string, name: string, sweep: Sweep): Promise<string> => {
  const parent = join(cache, 'hosts');
  await mkdir(parent, { recursive: true });
  for (const entry of await readdir(parent)) {
    const folder = join(parent, entry);
    if (!entry.startsWith('.') && !isOwned(folder)) sweep(folder);
  }
  const id = `${name}-${randomUUID().slice(0, 8)}`;
  // Nobody may see it without its owner: it gets its name last.
  const hidden = join(parent, `.${id}`);
  await mkdir(hidden);
  await writeFile(join(hidden, 'owner'), identity(process.pid) ?? '');
  const folder = join(parent, id);
  await rename(hidden, folder);
  if (!sweeps) atEnd(sweepClaimed);
  sweeps = true;
  claimed.set(folder, sweep);
  return folder;
};

/** The folder is gone: nothing is left to sweep at exit. */
export const releaseHostFolder = (folder: string): void => {
  claimed.delete(folder);
};

/** Its owner last: another process that sees no owner would sweep what is already being removed. */
export const removeHostFolder = (folder: string): void => {
  const options = { recursive: true, force: true };
  for (const entry of entriesOf(folder)) if (entry !== 'owner') rmSync(join(folder, entry), options);
  rmSync(folder, options);
};

const entriesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    // Swept by another run that found it dead, too.
    return [];
  }
};

const sweepClaimed = (): void => {
  for (const [folder, sweep] of claimed) sweep(folder);
};

const isOwned = (folder: string): boolean => {
  try {
    const owner = readFileSync(join(folder, 'owner'), 'utf8');
    return identity(Number(owner.split(' ')[0])) === owner;
  } catch {
    return false;
  }
};

/** A pid and its start time (proc(5), stat field 22): pids are used again, the pair is not. */
const identity = (pid: number): string | undefined => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]}`;
  } catch {
    return undefined;
  }
};
