/** The parts of a repository URL that decide who may name it. */
export type RepositoryAddress = {
  /** 'https', 'ssh' ..., 'oci' for charts in a registry, or 'scp' for user@host:path, whose path is relative to the user's home. */
  readonly transport: string;
  /** The ssh login name. */
  readonly user: string;
  /** In lower case, with the port. */
  readonly host: string;
  /** Percent-decoded, without `.git`. */
  readonly path: readonly string[];
};

const TRANSPORTS: ReadonlySet<string> = new Set(['https:', 'http:', 'ssh:', 'git:', 'oci:']);
const URL_PARTS = /^[a-z]+:\/\/[\w.:@[\]-]+(?<path>\/.*)?$/i;
const SCP_PARTS = /^(?:(?<user>[\w][\w.-]*)@)?(?<host>[A-Za-z0-9][A-Za-z0-9.-]+):(?<path>[^:/-][^:]*)$/;

/**
 * Parses an address strictly. Undefined for every form that Git, a credential helper or a server could interpret differently
 * than the comparison of prefixes does, and for local paths, `file:`, transports that run programs (`ext::`), a leading `-`,
 * passwords, dot segments and encoded slashes in the path, and queries.
 */
export const parseAddress = (text: string): RepositoryAddress | undefined => {
  // oxlint-disable-next-line no-control-regex
  if (/[\u0000-\u0020\u007f\\?#]/.test(text)) return undefined;
  return text.includes('://') ? fromUrl(text) : fromScp(text);
};

const fromUrl = (text: string): RepositoryAddress | undefined => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const parts = URL_PARTS.exec(text);
  if (!url || !parts || !TRANSPORTS.has(url.protocol) || url.password !== '') return undefined;
  const user = decodeURIComponent(url.username);
  const path = segmentsOf((parts.groups?.['path'] ?? '').slice(1));
  if (!path || !isHost(url.hostname) || (user !== '' && (url.protocol !== 'ssh:' || !isUser(user))))
    return undefined;
  return { transport: url.protocol.slice(0, -1), user, host: url.host.toLowerCase(), path };
};

const fromScp = (text: string): RepositoryAddress | undefined => {
  const { user = '', host, path: written } = SCP_PARTS.exec(text)?.groups ?? {};
  const path = written === undefined ? undefined : segmentsOf(written);
  if (!path || host === undefined) return undefined;
  return { transport: 'scp', user, host: host.toLowerCase(), path };
};

const isUser = (text: string): boolean => /^\w[\w.-]*$/.test(text);
const isHost = (text: string): boolean => /^(?:[A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9a-f:]+\])$/.test(text);

const segmentsOf = (path: string): readonly string[] | undefined => {
  const written = path.replace(/\/+$/, '').replace(/\.git$/, '');
  if (written === '') return [];
  const segments: string[] = [];
  for (const part of written.split('/')) {
    const segment = decoded(part);
    // oxlint-disable-next-line no-control-regex
    if (segment === undefined || /^(?:|\.|\.\.|-.*)$|[\u0000-\u001f\u007f/\\%]/.test(segment))
      return undefined;
    segments.push(segment);
  }
  return segments;
};

const decoded = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};

/**
 * Whether the prefix is this repository or a folder that contains it: `https://host/a` covers `https://host/a/b`, not
 * `https://host/ab`.
 */
export const coversAddress = (prefix: RepositoryAddress, address: RepositoryAddress): boolean =>
  prefix.transport === address.transport &&
  prefix.user === address.user &&
  prefix.host === address.host &&
  prefix.path.every((segment, at) => address.path[at] === segment);

/** Whether both name one repository, ignoring the transport, the user, the port and letter case. */
export const isSameRepository = (one: RepositoryAddress, other: RepositoryAddress): boolean =>
  hostOnly(one) === hostOnly(other) &&
  one.path.join('/').toLowerCase() === other.path.join('/').toLowerCase();

const hostOnly = ({ host }: RepositoryAddress): string => host.replace(/:\d+$/, '');

/** The owner or group of a repository, as a prefix; undefined when the path has none. */
export const ownerOf = (address: RepositoryAddress): RepositoryAddress | undefined =>
  address.path.length < 2 ? undefined : { ...address, path: address.path.slice(0, -1) };
