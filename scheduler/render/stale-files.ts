import type { Tree } from './render-tree.ts';

/** What of an earlier tree is to go. */
export type StaleRules = {
  readonly tree: Tree;
  /** '<cluster type>/<target>': what is in it stays. */
  readonly isKept: (folder: string) => boolean;
  /** Does this README.md say that its folder was a cluster type's? */
  readonly isOurs: (readme: string) => boolean;
};

/**
 * Files that an earlier tree had and this one has not (behaviour spec 3.2, section 5 item 4): in the folders of targets, also
 * of those that stay, and whole folders of cluster types that are gone. What stands at the top, in a folder with a dot or
 * without our README.md, or beside the targets of a cluster type is somebody else's.
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
  // Its README.md is what a folder is known by, as long as anything of ours is in it.
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
