import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isRepositoryUrl, redactUrl, repositoryKey } from './repository-url.ts';

/** The wanted revision of a repository: its HEAD, a branch, any name (branch, tag or commit), or one commit. */
export type Revision =
  | { readonly kind: 'head' }
  | { readonly kind: 'branch'; readonly name: string }
  | { readonly kind: 'any'; readonly name: string }
  | { readonly kind: 'commit'; readonly commit: string; readonly branch?: string };

/** Where files come from. `shown` is the name in messages. */
export type Location =
  | { readonly kind: 'directory'; readonly directory: string; readonly shown: string }
  | GitLocation;

export type GitLocation = {
  readonly kind: 'git';
  readonly repo: string;
  readonly revision: Revision;
  /** Set for repositories that a tenant named: a server must not redirect Git, and its credentials, to another repository. */
  readonly redirects?: 'refused';
};

/** One --map: a directory, or another repository or ref, replaces this repository, at this branch or commit if `ref` is set. */
export type SourceMap = DirectoryMap | (Omit<DirectoryMap, 'directory'> & { readonly git: GitLocation });

export type DirectoryMap = { readonly repo: string; readonly ref?: string; readonly directory: string };

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
 * `--map <url>[#branch]=<directory>` or `--map <url>[#branch]=<url>[#ref]`.
 * @throws FleetError USAGE
 */
export const parseMap = (text: string): SourceMap => {
  // The URL and the directory may both contain "=". A "=" after the "#" separates them, else the last one does. A "#" with
  // no "=" after it belongs to the directory.
  const first = text.indexOf('#');
  const hash = text.includes('=', first) ? first : -1;
  const equals = hash === -1 ? text.lastIndexOf('=') : text.indexOf('=', hash);
  const url = text.slice(0, hash === -1 ? equals : hash);
  const directory = text.slice(equals + 1);
  if (equals === -1 || url === '' || directory === '') {
    throw new FleetError(
      'USAGE',
      `the map ${JSON.stringify(redactUrl(text))} is not <url>[#branch]=<directory or url#ref>`,
      {
        hint: 'Write it like https://example.com/control-plane#dev=../control-plane-dev',
      },
    );
  }
  const ref = hash === -1 ? '' : text.slice(hash + 1, equals);
  return { repo: url, ...defined({ ref: ref === '' ? undefined : ref }), ...parseReplacement(directory) };
};

/** @throws FleetError USAGE */
const parseReplacement = (text: string): { directory: string } | { git: GitLocation } => {
  if (!isRepositoryUrl(text)) return { directory: text };
  const { location, path } = parsePlatform(text);
  if (location.kind === 'git' && path === '.') return { git: location };
  throw new FleetError('USAGE', `the map's target ${JSON.stringify(redactUrl(text))} names a folder`, {
    hint: 'A whole repository is replaced: write <url>#<branch, tag or commit>',
  });
};

/**
 * The directory or repository that is mapped to a repository, or the repository itself. The most specific map wins: commit, then branch, then
 * any.
 */
export const locate = (maps: readonly SourceMap[], repo: string, revision: Revision): Location => {
  const names = revisionNames(revision);
  const mapped = mapsOf(maps).get(repositoryKey(repo)) ?? [];
  const found =
    names.map((name) => mapped.find((map) => map.ref === name)).find((map) => map !== undefined) ??
    mapped.find((map) => map.ref === undefined);
  if (found === undefined) return { kind: 'git', repo, revision };
  return 'git' in found
    ? found.git
    : { kind: 'directory', directory: found.directory, shown: found.directory };
};

/** Cached by repository: a fleet may have as many maps as applications, and looks up each. */
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

/**
 * The rules of git-check-ref-format that keep a name from being read as something else.
 * @throws FleetError with `code`: USAGE or FIELD_INVALID
 */
export const checkRef = (name: string, code: 'USAGE' | 'FIELD_INVALID'): string => {
  // oxlint-disable-next-line no-control-regex
  if (/^-|\.\.|[\u0000-\u0020\u007f~^:?*[\\]|\/$|^\/|@\{|\.lock$/.test(name) || name === '')
    throw new FleetError(code, `${JSON.stringify(name)} is not a name of a branch or tag`);
  return name;
};

/** The branch or tag of a revision, if it has one. */
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
