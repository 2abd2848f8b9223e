import { createHash, randomUUID } from 'node:crypto';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import type { GitRepository } from './git-cache.ts';
import { isCommit, type Revision, refName } from '../../model/location.ts';

/** The commit of a branch when it was last read, and the time. */
export type KnownCommit = { readonly commit: string; readonly at: Date };

const fileOf = ({ gitDirectory }: GitRepository, revision: Revision): string => {
  const name = createHash('sha256')
    .update(refName(revision) ?? 'HEAD')
    .digest('hex')
    .slice(0, 32);
  return join(`${gitDirectory}.known`, name);
};

/** Records the commit of a branch, for runs in which the repository does not respond. Commits need no record. */
export const rememberCommit = async (
  repository: GitRepository,
  revision: Revision,
  commit: string,
): Promise<void> => {
  if (revision.kind === 'commit') return;
  const file = fileOf(repository, revision);
  await createDirectory(dirname(file));
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, commit);
  await rename(draft, file);
};

/** @returns undefined if the branch was never read into this cache */
export const recallCommit = async (
  repository: GitRepository,
  revision: Revision,
): Promise<KnownCommit | undefined> => {
  const file = fileOf(repository, revision);
  const found = await stat(file).catch(() => undefined);
  const commit = found && (await readFile(file, 'utf8').catch(() => ''));
  return found && commit !== undefined && isCommit(commit) ? { commit, at: found.mtime } : undefined;
};
