import { randomUUID } from 'node:crypto';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { type GitRepository, prepare } from '../../load/sources/git-cache.ts';
import { type Git, withRemote } from '../../load/sources/run-git.ts';

/**
 * Creates a temporary repository for one commit on top of `base`, which borrows the cache's objects. Disposal deletes it. The
 * cache cannot be used directly: it has every commit without its parents, and servers refuse to accept such a commit as new.
 */
export const openScratch = async (
  git: Git,
  repository: GitRepository,
  base: string | undefined,
): Promise<GitRepository & AsyncDisposable> => {
  const folder = join(repository.cacheDirectory, 'publish');
  const gitDirectory = join(folder, `${randomUUID()}.git`);
  await createDirectory(folder);
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
