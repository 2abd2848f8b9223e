import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { checkCache } from './check-cache.ts';
import { type GitRepository, unreachable } from './git-cache.ts';
import { checkRef, isCommit, type Revision } from '../../model/location.ts';
import { redactUrl, repositoryKey } from '../../model/repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from './run-git.ts';

/**
 * Reads all refs with one request, so that all branches of a run are from the same moment.
 * @throws FleetError SOURCE_UNREACHABLE; PERMISSION for a cache that others can write to
 */
export const openRepository = async (
  git: Git,
  url: string,
  cacheDirectory: string,
): Promise<GitRepository> => {
  await checkCache(cacheDirectory);
  const listed = await runGit(withRemote(git, url), ['ls-remote', '--quiet', REMOTE]);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  const refs = new Map<string, string>();
  for (const line of listed.out.split('\n')) {
    const [commit, name] = line.split('\t');
    if (commit && name) refs.set(name, commit);
  }
  return { ...cachedRepository(url, cacheDirectory), refs };
};

/** A cached repository, without a request and without refs. */
export const cachedRepository = (url: string, cacheDirectory: string): GitRepository => {
  const key = createHash('sha256').update(repositoryKey(url)).digest('hex').slice(0, 32);
  return { url, refs: new Map(), gitDirectory: join(cacheDirectory, `${key}.git`), cacheDirectory };
};

/** The branch that the repository's HEAD points to. @throws FleetError SOURCE_UNREACHABLE */
export const defaultBranch = async (git: Git, url: string): Promise<string | undefined> => {
  const listed = await runGit(withRemote(git, url), ['ls-remote', '--quiet', '--symref', REMOTE, 'HEAD']);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  return /^ref: refs\/heads\/(.*)\tHEAD$/m.exec(listed.out)?.[1];
};

/** @throws FleetError SOURCE_MISSING for an unknown branch or tag, FIELD_INVALID for an invalid name */
export const resolveRevision = (repository: GitRepository, revision: Revision): string => {
  const { refs, url } = repository;
  switch (revision.kind) {
    case 'head': {
      const commit = refs.get('HEAD');
      if (commit !== undefined) return commit;
      throw new FleetError(
        'SOURCE_MISSING',
        refs.size === 0
          ? `${redactUrl(url)} is empty: nothing was ever pushed to it`
          : `${redactUrl(url)} has no default branch`,
        {
          subject: redactUrl(url),
          hint: refs.size === 0 ? 'Check the URL, or push to it first' : 'Name one with #branch',
        },
      );
    }
    case 'branch':
    case 'any': {
      const name = checkRef(revision.name, 'FIELD_INVALID');
      const branch = refs.get(`refs/heads/${name}`);
      if (branch !== undefined) return branch;
      const tag = refs.get(`refs/tags/${name}^{}`) ?? refs.get(`refs/tags/${name}`);
      if (revision.kind === 'any' && tag !== undefined) return tag;
      if (revision.kind === 'any' && isCommit(name)) return name;
      throw new FleetError('SOURCE_MISSING', `${redactUrl(url)} has no branch ${name}`, {
        subject: redactUrl(url),
        hint: ABBREVIATED.test(name)
          ? 'A commit is named by all of its 40 (or 64) digits: a short name may come to mean another'
          : branchHint(refs),
      });
    }
    case 'commit':
      return revision.commit;
  }
};

const ABBREVIATED = /^[0-9a-f]{7,63}$/;

const branchHint = (refs: ReadonlyMap<string, string>): string => {
  const names = [...refs.keys()].filter((ref) => ref.startsWith('refs/heads/')).map((ref) => ref.slice(11));
  return names.length === 0 ? 'It has no branches at all' : `It has ${nameSome(names)}`;
};
