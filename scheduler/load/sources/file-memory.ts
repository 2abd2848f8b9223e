import type { SourceFile } from './read-files.ts';

/**
 * The files that a run read, for the next run. A file with equal bytes gets the same Buffer again, so that caches keyed by
 * it still match. Files that a run does not read are dropped after it.
 */
export type FileMemory = { before: FilesBySource; now: FilesBySource };

type FilesBySource = Map<string, ReadonlyMap<string, Buffer>>;

export const createFileMemory = (): FileMemory => ({ before: new Map(), now: new Map() });

/** Starts a run. */
export const turnFileMemory = (memory: FileMemory): void => {
  memory.before = memory.now;
  memory.now = new Map();
};

/** @param key identifies the source: its location, and the part that is read */
export const internFiles = (
  memory: FileMemory,
  key: string,
  files: readonly SourceFile[],
): readonly SourceFile[] => {
  const known = memory.now.get(key) ?? memory.before.get(key);
  const same = files.map((file) => {
    const old = known?.get(file.path);
    return old?.equals(file.bytes) ? { ...file, bytes: old } : file;
  });
  memory.now.set(key, new Map(same.map(({ path, bytes }) => [path, bytes])));
  return same;
};
