import { compareBytes } from '../digest.ts';
import { isName } from '../names.ts';
import { matchImage } from '../signatures/match-image.ts';
import { coversPath, isReserved } from './reserved-paths.ts';

/** What one package may name (docs/workspaces.md, docs/bundle-format.md section 4). A list that is absent is empty. */
export type PackageBounds = {
  /** Absolute paths on the host, and all below each. */
  readonly paths?: readonly string[];
  /** What the platform's templates brought: paths, unit names, and `check:<argv as JSON>`. Not bound by the other lists. */
  readonly platform?: readonly string[];
  /** Patterns of names, `*` for any characters. */
  readonly secretSets?: readonly string[];
  /** Patterns of unit names, `*` for any characters. */
  readonly units?: readonly string[];
  /** Owners and groups of files besides root, and what units may run as; with root a unit may be anything. */
  readonly users?: readonly string[];
};

/** Folders in which each name of a package has one of its own. */
const HOMES = ['/etc', '/opt', '/run', '/srv', '/var/cache', '/var/lib', '/var/log'];

/** Where contents of a package are placed when it does not say where (docs/content.md). */
const CONTENT_HOMES = ['ansible', 'apt', 'charts'].map((kind) => `/var/lib/fleet-ferry/${kind}`);

type Grants = Required<Pick<PackageBounds, 'paths' | 'secretSets' | 'units' | 'users'>>;

/**
 * The defaults of a tenant's package and what its workspace is granted.
 * @param names of its registration and its workspace: the platform chose them, never the tenant
 * @param id of the assignment
 */
export const tenantBounds = (
  names: readonly string[],
  id: string,
  grants: Grants | undefined,
): Required<Omit<PackageBounds, 'platform'>> => {
  const own = names.filter(isName);
  const homes = own.flatMap((name) => HOMES.map((home) => `${home}/${name}`));
  return {
    paths: sorted([
      ...homes.filter((path) => !isReserved(path)),
      ...CONTENT_HOMES.map((home) => `${home}/${id}`),
      ...(grants?.paths ?? []),
    ]),
    secretSets: sorted([...own, ...(grants?.secretSets ?? [])]),
    units: sorted([...own.flatMap((name) => [`${name}.*`, `${name}@*`]), ...(grants?.units ?? [])]),
    users: sorted(grants?.users ?? []),
  };
};

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted(compareBytes);

export const allowsName = (patterns: readonly string[] | undefined, name: string): boolean =>
  (patterns ?? []).some((pattern) => matchImage(pattern, name));

/** Is a path granted, by itself or by a folder above it? A reserved one must be granted as such: /etc does not grant /etc/ssh. */
export const allowsPath = (paths: readonly string[] | undefined, path: string): boolean =>
  (paths ?? []).some((granted) => coversPath(granted, path) && (!isReserved(path) || isReserved(granted)));

/** Names outside of the bounds, sorted. */
export const foreignSets = (
  { secretSets }: Pick<PackageBounds, 'secretSets'>,
  sets: readonly string[],
): readonly string[] => sorted(sets.filter((name) => !allowsName(secretSets, name)));
