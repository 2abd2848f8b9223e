import type { Tree } from './render-tree.ts';

/** Decides which files of an earlier tree are removed. */
export type StaleRules = {
  readonly tree: Tree;
  /** Whether the files in '<cluster type>/<target>' stay. */
  readonly isKept: (folder: string) => boolean;
  /** Whether this README.md marks its folder as a cluster type's. */
  readonly isOurs: (readme: string) => boolean;
};

/**
 * Files of an earlier tree that the new one does not have (behaviour spec 3.2, section 5 item 4): in the folders of targets,
 * and all folders of cluster types that no longer exist. Other files are not ours: those at the top, in a folder whose name
 * starts with a dot, in one without our README.md, and beside the targets of a cluster type.
 */
export const staleFiles = (
  paths: readonly string[],
  { tree, isKept, isOurs }: StaleRules,
): readonly string[] => {
  const current = new Set([...tree.keys()].map((path) => path.split('/')[0] as string));
  const gone = new Set(
    paths
      .filter((path) => /^[^./][^/]*\/README\.md$/.test(path) && isOurs(path))
      .map((path) => path.split('/')[0] as string)
      .filter((top) => !current.has(top)),
  );
  const targetOf = (path: string): string => path.split('/').slice(0, 2).join('/');
  // The README.md identifies the folder, so it stays as long as a target in it does.
  const needed = new Set(
    paths
      .filter((path) => path.split('/').length > 2 && isKept(targetOf(path)))
      .map((path) => path.split('/')[0]),
  );
  return paths.filter((path) => {
    if (tree.has(path)) return false;
    const [top = '', , ...deeper] = path.split('/');
    if (top === path || top.startsWith('.')) return false;
    if (deeper.length === 0) return gone.has(top) && !needed.has(top);
    return (current.has(top) || gone.has(top)) && !isKept(targetOf(path));
  });
};
