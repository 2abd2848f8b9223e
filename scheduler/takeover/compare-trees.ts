import { compareBytes } from '#bundles/digest';
import type { Tree } from '../render/render-tree.ts';

/** Paths of files, in byte order. */
export type TreeComparison = {
  readonly equal: readonly string[];
  readonly changed: readonly string[];
  readonly onlyBefore: readonly string[];
  readonly onlyAfter: readonly string[];
};

/** How two trees differ, by path. */
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
  return { equal, changed, onlyBefore, onlyAfter };
};
