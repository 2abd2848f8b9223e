/** Where a repository is on its server. */
export type Place = {
  /** Without the port. */
  readonly host: string;
  /** Of the path, decoded, at least two; the last without '.git'. */
  readonly segments: readonly string[];
  /** Set if the path is one of Azure DevOps. */
  readonly azure: AzurePlace | undefined;
};

export type AzurePlace = {
  /** Address of the organization or collection: 'https://dev.azure.com/<organization>'. */
  readonly collection: string;
  readonly project: string;
  readonly name: string;
};

const URL_FORM = /^[a-z][a-z0-9+.-]*:\/\/(?:[^/@]*@)?([^/:]+)(?::\d+)?\/(.+?)\/*$/i;
const SSH_FORM = /^(?:[^\s/@]+@)?([^\s/:]+):(?!\/\/)\/*(.+?)\/*$/;

/** Reads a URL, or user@host:path. @returns undefined if it has no host or fewer than two segments */
export const placeOf = (repo: string): Place | undefined => {
  const [, name, path] = URL_FORM.exec(repo) ?? SSH_FORM.exec(repo) ?? [];
  if (!name || !path) return undefined;
  const host = name.toLowerCase();
  const segments = path
    .replace(/\.git$/, '')
    .split('/')
    .map(decode);
  if (segments.length < 2 || segments.includes('')) return undefined;
  return { host, segments, azure: azureOf(host, segments) };
};

const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
};

/**
 * Forms: dev.azure.com/<organization>[/<project>]/_git/<name>, <organization>.visualstudio.com[/DefaultCollection]/<project>/_git/<name>,
 * <server>/<collection>/<project>/_git/<name>, and by SSH v3/<organization>/<project>/<name>. Without a project its name is the
 * repository's.
 */
const azureOf = (host: string, segments: readonly string[]): AzurePlace | undefined => {
  const [version, organization, ...rest] = segments;
  const isSsh = /^(?:ssh\.dev\.azure\.com|vs-ssh\.visualstudio\.com)$/.test(host);
  if (isSsh) {
    const [project, name] = rest;
    if (version !== 'v3' || organization === undefined || project === undefined || name === undefined)
      return undefined;
    return { collection: addressOf('dev.azure.com', [organization]), project, name };
  }
  const at = segments.lastIndexOf('_git');
  const name = segments[at + 1];
  if (at === -1 || name === undefined || at + 2 !== segments.length) return undefined;
  const before = segments.slice(0, at);
  // An organization is not a project.
  const least = host === 'dev.azure.com' ? 1 : 0;
  const project = before.length > least ? before.at(-1) : undefined;
  const collection = project === undefined ? before : before.slice(0, -1);
  return { collection: addressOf(host, collection), project: project ?? name, name };
};

const addressOf = (host: string, path: readonly string[]): string =>
  [`https://${host}`, ...path.map(encodeURIComponent)].join('/');
