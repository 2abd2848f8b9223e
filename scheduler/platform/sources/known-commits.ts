import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { GitRepository } from './git-cache.ts';
import { isCommit, type Revision, refName } from './location.ts';

/** What a branch of a repository was when it was last read, and when that was. */
export type KnownCommit = { readonly commit: string; readonly at: Date };

const fileOf = ({ gitDirectory }: GitRepository, revision: Revision): string => {
  const name = createHash('sha256')
    .update(refName(revision) ?? 'HEAD')
    .digest('hex')
    .slice(0, 32);
  return join(`${gitDirectory}.known`, name);
};

/** Keeps which commit a branch stood for, for the day on which the repository is down. A commit stands for itself. */
export const rememberCommit = async (
  repository: GitRepository,
  revision: Revision,
  commit: string,
): Promise<void> => {
  if (revision.kind === 'commit') return;
  const file = fileOf(repository, revision);
  await mkdir(dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, commit);
  await rename(draft, file);
};

/** @returns undefined where it was never read from here */
export const recallCommit = async (
  repository: GitRepository,
  revision: Revision,
): Promise<KnownCommit | undefined> => {
  const file = fileOf(repository, revision);
  const found = await stat(file).catch(() => undefined);
  const commit = found && (await readFile(file, 'utf8').catch(() => ''));
  return found && commit !== undefined && isCommit(commit) ? { commit, at: found.mtime } : undefined;
};
