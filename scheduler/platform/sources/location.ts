import { FleetError } from '#bundles/errors';
import { isRepositoryUrl, redactUrl, repositoryKey } from './repository-url.ts';

/** What of a repository is wanted: a branch, anything with a name (branch, tag or commit), or one commit. */
export type Revision =
  | { readonly kind: 'head' }
  | { readonly kind: 'branch'; readonly name: string }
  | { readonly kind: 'any'; readonly name: string }
  | { readonly kind: 'commit'; readonly commit: string; readonly branch?: string };

/** Where files come from. `shown` is how messages name it. */
export type Location =
  | { readonly kind: 'directory'; readonly directory: string; readonly shown: string }
  | {
      readonly kind: 'git';
      readonly repo: string;
      readonly revision: Revision;
      /** A tenant named it: a server must not send Git, and the credentials for it, to another repository. */
      readonly redirects?: 'refused';
    };

/** One --map: this repository (at this branch or commit, or at any) is that directory. */
export type SourceMap = { readonly repo: string; readonly ref?: string; readonly directory: string };

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

export const isCommit = (text: string): boolean => COMMIT.test(text);

/**
 * `--platform`: a directory, or `git URL[#ref[:path]]`.
 * @throws FleetError USAGE
 */
export const parsePlatform = (text: string): { location: Location; path: string } => {
  if (text === '')
    throw new FleetError('USAGE', 'the platform is empty', { hint: 'Give a directory or a Git URL' });
  if (!isRepositoryUrl(text))
    return { location: { kind: 'directory', directory: text, shown: text }, path: '.' };
  const hash = text.indexOf('#');
  if (hash === -1) return { location: { kind: 'git', repo: text, revision: { kind: 'head' } }, path: '.' };
  const [ref = '', ...path] = text.slice(hash + 1).split(':');
  const revision: Revision = ref === '' ? { kind: 'head' } : { kind: 'any', name: checkRef(ref, 'USAGE') };
  return { location: { kind: 'git', repo: text.slice(0, hash), revision }, path: path.join(':') || '.' };
};

/**
 * `--map <url>[#branch]=<dir>`.
 * @throws FleetError USAGE
 */
export const parseMap = (text: string): SourceMap => {
  // The URL may hold "=" in a query, a directory may too; a "=" after the "#" is the one, else the last one. A "#" with no "="
  // behind it is part of the directory's name.
  const first = text.indexOf('#');
  const hash = text.includes('=', first) ? first : -1;
  const equals = hash === -1 ? text.lastIndexOf('=') : text.indexOf('=', hash);
  const url = text.slice(0, hash === -1 ? equals : hash);
  const directory = text.slice(equals + 1);
  if (equals === -1 || url === '' || directory === '') {
    throw new FleetError(
      'USAGE',
      `the map ${JSON.stringify(redactUrl(text))} is not <url>[#branch]=<directory>`,
      {
        hint: 'Write it like https://example.com/control-plane#dev=../control-plane-dev',
      },
    );
  }
  const ref = hash === -1 ? '' : text.slice(hash + 1, equals);
  return ref === '' ? { repo: url, directory } : { repo: url, ref, directory };
};

/** The directory that stands for a repository, or the repository itself. The closest map wins: commit, branch, any. */
export const locate = (maps: readonly SourceMap[], repo: string, revision: Revision): Location => {
  const names = revisionNames(revision);
  const mapped = mapsOf(maps).get(repositoryKey(repo)) ?? [];
  const found =
    names.map((name) => mapped.find((map) => map.ref === name)).find((map) => map !== undefined) ??
    mapped.find((map) => map.ref === undefined);
  return found
    ? { kind: 'directory', directory: found.directory, shown: found.directory }
    : { kind: 'git', repo, revision };
};

/** Keyed once: a fleet may have as many maps as applications, and asks for each. */
const keyed = new WeakMap<readonly SourceMap[], ReadonlyMap<string, readonly SourceMap[]>>();
const mapsOf = (maps: readonly SourceMap[]): ReadonlyMap<string, readonly SourceMap[]> => {
  const byKey = keyed.get(maps) ?? Map.groupBy(maps, ({ repo }) => repositoryKey(repo));
  keyed.set(maps, byKey);
  return byKey;
};

const revisionNames = (revision: Revision): readonly string[] => {
  const name = refName(revision);
  return [...(revision.kind === 'commit' ? [revision.commit] : []), ...(name === undefined ? [] : [name])];
};

/** git-check-ref-format's rules that keep a name from being taken for something else. @throws FleetError */
export const checkRef = (name: string, code: 'USAGE' | 'FIELD_INVALID'): string => {
  // oxlint-disable-next-line no-control-regex
  if (/^-|\.\.|[\u0000-\u0020\u007f~^:?*[\\]|\/$|^\/|@\{|\.lock$/.test(name) || name === '')
    throw new FleetError(code, `${JSON.stringify(name)} is no name of a branch or tag`);
  return name;
};

/** The branch or tag that a revision names, if it names one. */
export const refName = (revision: Revision): string | undefined => {
  switch (revision.kind) {
    case 'head':
      return undefined;
    case 'branch':
    case 'any':
      return revision.name;
    case 'commit':
      return revision.branch;
  }
};
