import { FleetError } from '#bundles/errors';
import { parsePlatform } from '../../model/location.ts';
import { isRepositoryUrl, repositoryKey } from '../../model/repository-url.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { SourceTree } from '../imported.ts';

export type Repository = {
  readonly tree: SourceTree;
  /** The commit that was read; undefined for a folder. */
  readonly commit: string | undefined;
  /** The branch, tag or commit that was asked for. */
  readonly revision: string | undefined;
  /** Addresses by which its objects name it, as repositoryKey. */
  readonly addresses: ReadonlySet<string>;
};

/**
 * Reads a GitOps repository: a folder, or a Git URL with `@ref` or `#ref`.
 * @param addresses further addresses by which its own objects name it
 * @throws FleetError USAGE, SOURCE_MISSING, SOURCE_UNREACHABLE
 */
export const openRepository = async (
  sources: Sources,
  text: string,
  addresses: readonly string[],
): Promise<Repository> => {
  const { location: named, path } = parsePlatform(withHash(text));
  const location = named.kind === 'git' ? sources.locate(named.repo, named.revision) : named;
  const source = await sources.read({ role: 'import', location, path, which: 'all', ignore: 'none' });
  if (source.files.length === 0)
    throw new FleetError('SOURCE_MISSING', `${text} has no files`, { hint: 'Check the folder' });
  const own = named.kind === 'git' ? [named.repo] : [];
  return {
    tree: {
      id: 'repository',
      files: new Map(source.files.map((file) => [file.path, file.bytes])),
      // Places are relative to the repository, so that what is written does not depend on where it was read.
      shown: (file) => file,
    },
    commit: source.snapshot.commit,
    revision: source.snapshot.ref,
    addresses: new Set([...own, ...addresses].map(looseKey)),
  };
};

/** One repository by https, ssh and scp-like addresses. */
export const looseKey = (address: string): string =>
  repositoryKey(address)
    .replace(/^(?:[a-z][a-z0-9+.-]*:\/\/)?(?:[^\s/@]+@)?/i, '')
    .replace(/^([^/:]+)(?::\d+)?[:/]/, '$1/')
    .toLowerCase();

/** `https://host/owner/name@ref`: an @ after the last slash of the path, as a user name never is. */
const withHash = (text: string): string => {
  if (!isRepositoryUrl(text) || text.includes('#')) return text;
  const at = text.lastIndexOf('@');
  const slash = text.indexOf('/', text.includes('://') ? text.indexOf('://') + 3 : text.indexOf(':'));
  return slash !== -1 && at > slash ? `${text.slice(0, at)}#${text.slice(at + 1)}` : text;
};
