import { randomUUID } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { markUsed } from './cache-use.ts';
import type { GitRepository } from './git-cache.ts';

/** Where the cache has a folder of a commit. */
export type FolderTree = {
  /** The tree's name in `trees`. */
  readonly name: string;
  readonly submodules: readonly string[];
};

/** By path of the folder. Without it, git would have to be asked which tree a folder of a commit is. */
export type CommitTrees = Readonly<Record<string, FolderTree>>;

const fileOf = ({ gitDirectory, cacheDirectory }: GitRepository, commit: string): string =>
  join(cacheDirectory, 'commits', `${basename(gitDirectory, '.git')}-${commit}`);

/** Reads the trees of a commit. A record that was cut short or is of another version counts as empty: git is asked again. */
export const readCommitTrees = async (repository: GitRepository, commit: string): Promise<CommitTrees> => {
  const file = fileOf(repository, commit);
  if (!(await markUsed(repository.cacheDirectory, file))) return {};
  try {
    return JSON.parse(await readFile(file, 'utf8')) as CommitTrees;
  } catch {
    return {};
  }
};

export const writeCommitTrees = async (
  repository: GitRepository,
  commit: string,
  trees: CommitTrees,
): Promise<void> => {
  const file = fileOf(repository, commit);
  await createDirectory(dirname(file));
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(trees));
  await rename(draft, file);
};
