import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type GitRepository, prepare } from '../../platform/sources/git-cache.ts';
import { type Git, withRemote } from '../../platform/sources/run-git.ts';

/**
 * A repository for one commit on top of `base`, which borrows the cache's objects and is gone afterwards. The cache itself knows
 * every commit that was ever looked at as one without parents; a server refuses such a commit when it comes as new.
 */
export const openScratch = async (
  git: Git,
  repository: GitRepository,
  base: string | undefined,
): Promise<GitRepository & AsyncDisposable> => {
  const folder = join(repository.cacheDirectory, 'publish');
  const gitDirectory = join(folder, `${randomUUID()}.git`);
  await mkdir(folder, { recursive: true });
  const scratch = { ...repository, gitDirectory };
  await prepare(withRemote(git, repository.url), scratch);
  if (base !== undefined) {
    await mkdir(join(gitDirectory, 'objects/info'), { recursive: true });
    const objects = resolve(repository.gitDirectory, 'objects');
    await writeFile(join(gitDirectory, 'objects/info/alternates'), `${objects}\n`);
    await writeFile(join(gitDirectory, 'shallow'), `${base}\n`);
  }
  return {
    ...scratch,
    [Symbol.asyncDispose]: () => rm(gitDirectory, { recursive: true, force: true, maxRetries: 3 }),
  };
};
