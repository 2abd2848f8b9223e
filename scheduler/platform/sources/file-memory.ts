import type { SourceFile } from './read-files.ts';

/**
 * The files that a run read, for the next run: one that has the same bytes again is then the same Buffer, and what was made
 * of it is found by that. What a run does not read is forgotten with the next.
 */
export type FileMemory = { before: FilesBySource; now: FilesBySource };

type FilesBySource = Map<string, ReadonlyMap<string, Buffer>>;

export const newFileMemory = (): FileMemory => ({ before: new Map(), now: new Map() });

/** A run begins. */
export const turnFileMemory = (memory: FileMemory): void => {
  memory.before = memory.now;
  memory.now = new Map();
};

/** @param key names the source: where it is read and which part of it */
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
