import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { type GitRepository, unreachable } from './git-cache.ts';
import { type Git, runGit } from './run-git.ts';

/** A file, link, submodule or folder of a commit. */
export type TreeEntry = {
  /** Git's: 040000 is a folder, 100644 and 100755 are files, 120000 is a link, 160000 is a submodule. */
  readonly mode: string;
  readonly id: string;
  /** From the repository's root. */
  readonly path: string;
};

/** The entries of a commit, as each folder finds its own without a search. */
export type Listing = {
  /** In the order of git, in which the entries of a folder follow it. */
  readonly entries: readonly TreeEntry[];
  readonly places: ReadonlyMap<string, number>;
  /** All .sourceignore files. */
  readonly rules: readonly TreeEntry[];
};

/** All entries of a commit, folders included. @throws FleetError SOURCE_UNREACHABLE */
export const listCommit = async (
  git: Git,
  { gitDirectory, url }: GitRepository,
  commit: string,
): Promise<Listing> => {
  const command = ['--git-dir', gitDirectory, 'ls-tree', '-r', '-t', '-z', '--full-tree', commit];
  const listed = await runGit(git, command);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  // '<mode> <type> <id>\t<path>'
  const entries = listed.out
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => {
      const tab = line.indexOf('\t');
      const [mode = '', , id = ''] = line.slice(0, tab).split(' ');
      return { mode, id, path: line.slice(tab + 1) };
    });
  return {
    entries,
    places: new Map(entries.map(({ path }, at) => [path, at])),
    rules: entries.filter(
      ({ mode, path }) => basename(path) === IGNORE && mode.startsWith('1') && mode !== SUBMODULE,
    ),
  };
};

/** The folder or file `path` and all that is in it; empty if the commit does not have it. */
export const entriesAt = ({ entries, places }: Listing, path: string): readonly TreeEntry[] => {
  if (path === '.') return entries;
  const start = places.get(path);
  if (start === undefined) return [];
  const inside = `${path}/`;
  for (let end = start + 1; end < entries.length; end += 1)
    if (entries[end]?.path.startsWith(inside) !== true) return entries.slice(start, end);
  return entries.slice(start);
};

const IGNORE = '.sourceignore';

/** The .sourceignore files of the folders above `path`. */
export const rulesAbove = ({ rules }: Listing, path: string): readonly TreeEntry[] =>
  path === '.'
    ? []
    : rules.filter(({ path: file }) => file === IGNORE || path.startsWith(file.slice(0, -IGNORE.length)));

const SUBMODULE = '160000';

/** Files and links of a folder, and the rules that apply to it. */
export const blobsOf = ({
  entries,
  rules,
}: {
  readonly entries: readonly TreeEntry[];
  readonly rules: readonly TreeEntry[];
}): readonly TreeEntry[] =>
  [...entries, ...rules].filter(({ mode }) => mode.startsWith('1') && mode !== SUBMODULE);

/**
 * The name of a folder's tree in the cache: the repository, all that decides the bytes, and the folder. The repository is in it so
 * that naming a commit gives no access to another repository's files.
 */
export const treeName = (
  gitDirectory: string,
  folder: {
    readonly commit: string;
    readonly path: string;
    readonly entries: readonly TreeEntry[];
    readonly rules: readonly TreeEntry[];
  },
): string => {
  const { commit, path, entries, rules } = folder;
  const hash = createHash('sha256');
  // Git lists no entry for the root.
  const own = path === '.' ? commit : entries.find((entry) => entry.path === path)?.id;
  hash.update(`${own ?? 'nothing'}\n`);
  for (const rule of rules) hash.update(`${rule.mode} ${rule.id} ${rule.path}\n`);
  return `${basename(gitDirectory, '.git')}-${hash.digest('hex').slice(0, 40)}-${shortDigest(path)}`;
};

const shortDigest = (path: string): string => createHash('sha256').update(path).digest('hex').slice(0, 12);
