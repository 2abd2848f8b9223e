import { compareBytes } from '#bundles/digest';
import type { Tree } from '../../render/render-tree.ts';

/** A line beyond the end of the file has no text. */
export type LineDifference = {
  readonly path: string;
  readonly line: number;
  readonly before: string | undefined;
  readonly after: string | undefined;
};

/** Paths of files, in byte order. */
export type TreeComparison = {
  readonly equal: readonly string[];
  readonly changed: readonly string[];
  /** Of each changed file, the first line that differs. */
  readonly changes: readonly LineDifference[];
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
};

/** Compares two trees by path. */
export const compareTrees = (before: Tree, after: Tree): TreeComparison => {
  const paths = [...new Set([...before.keys(), ...after.keys()])].toSorted(compareBytes);
  const [equal, changed, onlyBefore, onlyAfter]: [string[], string[], string[], string[]] = [[], [], [], []];
  for (const path of paths) {
    const [old, now] = [before.get(path), after.get(path)];
    if (!old) onlyAfter.push(path);
    else if (!now) onlyBefore.push(path);
    else if (old.equals(now)) equal.push(path);
    else changed.push(path);
  }
  const changes = changed.map((path) =>
    compareLines(path, before.get(path) ?? NOTHING, after.get(path) ?? NOTHING),
  );
  return { equal, changed, changes, onlyBefore, onlyAfter };
};

const NOTHING = Buffer.alloc(0);

const compareLines = (path: string, before: Buffer, after: Buffer): LineDifference => {
  const [old, now] = [before.toString().split('\n'), after.toString().split('\n')];
  const length = Math.max(old.length, now.length);
  let line = 0;
  while (line < length && old[line] === now[line]) line += 1;
  return { path, line: line + 1, before: old[line], after: now[line] };
};
