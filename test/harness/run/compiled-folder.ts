import { mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Another run may still add to a folder that is younger. */
const UNUSED_MS = 86_400_000;

/**
 * Where Node keeps what it compiled of the sources today. It never removes an entry, and programs in temporary folders get new ones in
 * every run, so each day has a folder, and those that nothing was added to for a day are removed.
 */
export const compiledFolder = (cache: string, now: Date): string => {
  const all = join(cache, 'compiled');
  const today = join(all, now.toISOString().slice(0, 10));
  mkdirSync(today, { recursive: true });
  for (const name of readdirSync(all)) {
    const folder = join(all, name);
    if (folder === today || now.getTime() - statSync(folder).mtimeMs < UNUSED_MS) continue;
    rmSync(folder, { recursive: true, force: true });
  }
  return today;
};
