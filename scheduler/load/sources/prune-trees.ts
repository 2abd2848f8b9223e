import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** Number of most recently used trees to keep for one folder of a repository. */
const KEPT = 4;
/** A tree used within this time may still be read by a run. */
const IN_USE_MS = 3_600_000;

/** Records that a tree is in use. */
export const touchTree = async (tree: string): Promise<void> => {
  const now = new Date();
  await utimes(tree, now, now).catch(() => undefined);
};

/** Deletes the least recently used trees of a folder. Each is as large as the folder, and can be created again. */
export const pruneTrees = async (trees: string, isOfFolder: (name: string) => boolean): Promise<void> => {
  const names = (await readdir(trees).catch(() => [])).filter(isOfFolder);
  if (names.length <= KEPT) return;
  const found = await Promise.all(
    names.map(async (name) => ({
      name,
      used: (await stat(join(trees, name)).catch(() => undefined))?.mtimeMs ?? 0,
    })),
  );
  const old = found.toSorted((a, b) => b.used - a.used).slice(KEPT);
  for (const { name, used } of old) {
    if (Date.now() - used < IN_USE_MS) continue;
    await rm(join(trees, name), { recursive: true, force: true });
    await rm(join(trees, `${name}.submodules`), { force: true });
  }
};
