import { defined } from '../../defined.ts';
import { compareBytes } from '../../digest.ts';
import { isName } from '../../names.ts';
import type { PackageBounds } from '../bundle/config.ts';
import { matchImage } from '../bundle/match-image.ts';
import { coversPath, isReserved, SECRETS_IN_MEMORY } from './reserved-paths.ts';
import { isReservedUnit } from './reserved-units.ts';

/** Folders in which each name of a package has its own folder. */
const HOMES = ['/etc', '/opt', '/run', SECRETS_IN_MEMORY, '/srv', '/var/cache', '/var/lib', '/var/log'];

/** Default destinations of a package's contents (docs/content.md). */
const CONTENT_HOMES = ['ansible', 'apt', 'charts'].map((kind) => `/var/lib/fleet-ferry/${kind}`);

export type TenantBounds = Required<Pick<PackageBounds, 'paths' | 'secretSets' | 'units' | 'users'>> &
  Pick<PackageBounds, 'seconds'>;

type Grants = Required<Pick<PackageBounds, 'paths' | 'secretSets' | 'units' | 'users'>>;

/**
 * Returns the bounds of a tenant's package: the defaults and the grants of its workspace.
 * @param names of its registration and its workspace: the platform chooses them, never the tenant
 * @param id of the assignment
 * @param seconds that its package may take on a host
 */
export const tenantBounds = (
  names: readonly string[],
  id: string,
  grants: Grants | undefined,
  seconds: number | undefined,
): TenantBounds => {
  const own = names.filter(isName);
  const homes = own.flatMap((name) => HOMES.map((home) => `${home}/${name}`));
  return defined({
    paths: sorted([
      ...homes.filter((path) => !isReserved(path)),
      ...CONTENT_HOMES.map((home) => `${home}/${id}`),
      ...(grants?.paths ?? []),
    ]),
    seconds,
    secretSets: sorted([...own, ...(grants?.secretSets ?? [])]),
    units: sorted([
      ...own.filter((name) => !isReservedUnit(name)).flatMap((name) => [`${name}.*`, `${name}@*`]),
      ...(grants?.units ?? []),
    ]),
    users: sorted(grants?.users ?? []),
  });
};

const sorted = (texts: readonly string[]): readonly string[] => [...new Set(texts)].toSorted(compareBytes);

export const allowsName = (patterns: readonly string[] | undefined, name: string): boolean =>
  (patterns ?? []).some((pattern) => matchImage(pattern, name));

/** Whether a path or a folder above it is granted. A reserved path needs a reserved grant: /etc does not grant /etc/ssh. */
export const allowsPath = (paths: readonly string[] | undefined, path: string): boolean =>
  (paths ?? []).some((granted) => coversPath(granted, path) && (!isReserved(path) || isReserved(granted)));

/** Secret sets outside of the bounds, sorted. */
export const foreignSets = (
  { secretSets }: Pick<PackageBounds, 'secretSets'>,
  sets: readonly string[],
): readonly string[] => sorted(sets.filter((name) => !allowsName(secretSets, name)));
