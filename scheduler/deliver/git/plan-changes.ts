import { createHash } from 'node:crypto';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { README, type Tree } from '../../render/render-tree.ts';
import { staleFiles } from '../../render/stale-files.ts';
import { type BranchFiles, toGitPath } from './read-branch.ts';

/** The changes that bring a branch to a tree. Paths as in BranchFiles, in byte order. */
export type Changes = {
  readonly written: readonly { readonly path: string; readonly bytes: Buffer; readonly id: string }[];
  readonly removed: readonly string[];
  readonly unchanged: number;
  /** Name of the change: the first 12 hex digits of a hash over what is written and removed. */
  readonly name: string;
};

/** Mode of the files that we write. */
export const MODE = '100644';
const NAME_DIGITS = 12;

/**
 * Plans what to write and remove. Only our own files in the folders of cluster types are removed (`staleFiles`); everything
 * else on the branch stays.
 * @throws FleetError GIT_REFUSED if a file on the branch is in the place of a folder
 */
export const planChanges = (
  before: BranchFiles,
  tree: Tree,
  isKept: (folder: string) => boolean,
): Changes => {
  const idOf = blobIdIn(before);
  const readme = idOf(Buffer.from(README));
  const all = [...tree].map(([path, bytes]) => ({ path: toGitPath(path), bytes, id: idOf(bytes) }));
  for (const { path } of all) refuseInTheWay(before, path);
  const written = all
    .filter(({ path, id }) => {
      const old = before.get(path);
      return old?.id !== id || old.mode !== MODE;
    })
    .toSorted((a, b) => compareBytes(a.path, b.path));
  const wanted = new Map(all.map(({ path, bytes }) => [path, bytes]));
  const removed = staleFiles([...before.keys()], {
    tree: wanted,
    isKept,
    isOurs: (path) => before.get(path)?.id === readme,
  }).toSorted(compareBytes);
  return { written, removed, unchanged: tree.size - written.length, name: nameOf(written, removed) };
};

/**
 * Plans edits of single files.
 * @param files `was`: the content that an edit was made from; undefined for a new file
 * @throws FleetError BUSY if a file on the branch has another content
 */
export const planFiles = (
  before: BranchFiles,
  files: readonly { readonly path: string; readonly was: Buffer | undefined; readonly bytes: Buffer }[],
): Changes => {
  const idOf = blobIdIn(before);
  const written = files.flatMap(({ path: shown, was, bytes }) => {
    const path = toGitPath(shown);
    const [now, id] = [before.get(path)?.id, idOf(bytes)];
    if (now === id) return [];
    if (now !== (was && idOf(was)))
      throw new FleetError('BUSY', `${shown} was changed on the branch meanwhile`, { hint: 'Run it again' });
    return [{ path, bytes, id }];
  });
  return { written, removed: [], unchanged: files.length - written.length, name: nameOf(written, []) };
};

/** The name of a change. */
export const nameOf = (written: Changes['written'], removed: readonly string[]): string => {
  const hash = createHash('sha256');
  for (const { path, bytes } of written)
    hash.update(`write ${path}\0${createHash('sha256').update(bytes).digest('hex')}\n`);
  for (const path of removed) hash.update(`remove ${path}\0\n`);
  return hash.digest('hex').slice(0, NAME_DIGITS);
};

/** Computes blob ids in the format of the repository: SHA-1, or SHA-256 if its ids have 64 digits. */
export const blobIdIn = (files: BranchFiles): ((bytes: Buffer) => string) => {
  const [first] = files.values();
  const algorithm = first?.id.length === 64 ? 'sha256' : 'sha1';
  return (bytes) => createHash(algorithm).update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
};

const refuseInTheWay = (before: BranchFiles, path: string): void => {
  for (let slash = path.indexOf('/'); slash !== -1; slash = path.indexOf('/', slash + 1)) {
    const above = path.slice(0, slash);
    if (!before.has(above)) continue;
    throw new FleetError('GIT_REFUSED', `${above} is a file on the branch, and has to be a folder`, {
      subject: above,
      hint: 'Move it away on the branch',
    });
  }
};
