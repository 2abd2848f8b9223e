import { compareBytes } from '#bundles/digest';
import type { Tree } from '../../render/render-tree.ts';
import { RELEASE_FILE } from './cluster-folder.ts';
import { blobIdIn, type Changes, MODE, nameOf } from './plan-changes.ts';
import { type BranchFiles, toGitPath } from './read-branch.ts';

/** A folder of a branch of which all files are ours. */
export type WholeFolder = {
  /** Without a trailing slash. */
  readonly folder: string;
  /** Desired content, by path within it; undefined: unchanged. */
  readonly files: Tree | undefined;
  /** Content for a branch that has none yet, or that of the same release with other values of the site, if `files` is undefined. */
  readonly atFirst: Tree | undefined;
  /** Whether the files of a deployment target stay. */
  readonly isKept: (target: string) => boolean;
};

/** Adds the changes of whole folders to a plan. Removes other files of these folders, except those of kept targets. */
export const planFolders = (
  { written, removed, unchanged }: Changes,
  before: BranchFiles,
  folders: readonly WholeFolder[],
): Changes => {
  const idOf = blobIdIn(before);
  const [more, less]: [Changes['written'][number][], string[]] = [[], []];
  let same = 0;
  for (const { folder, files: now, atFirst, isKept } of folders) {
    const start = `${toGitPath(folder)}/`;
    const there = [...before.keys()].filter((path) => path.startsWith(start));
    const release = atFirst?.get(RELEASE_FILE);
    const hasSame = release !== undefined && before.get(`${start}${RELEASE_FILE}`)?.id === idOf(release);
    const files = now ?? (there.length === 0 || hasSame ? atFirst : undefined);
    if (!files) continue;
    const wanted = new Map([...files].map(([path, bytes]) => [`${start}${toGitPath(path)}`, bytes]));
    for (const [path, bytes] of wanted) {
      const [old, id] = [before.get(path), idOf(bytes)];
      if (old?.id === id && old.mode === MODE) same += 1;
      else more.push({ path, bytes, id });
    }
    const targetOf = (path: string): string => path.slice(start.length).split('/')[0] ?? '';
    less.push(...there.filter((path) => !wanted.has(path) && !isKept(targetOf(path))));
  }
  const all = [...written, ...more].toSorted((a, b) => compareBytes(a.path, b.path));
  const gone = [...removed, ...less].toSorted(compareBytes);
  return { written: all, removed: gone, unchanged: unchanged + same, name: nameOf(all, gone) };
};
