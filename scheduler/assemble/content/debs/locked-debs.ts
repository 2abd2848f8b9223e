import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { ContentLocks } from '../../../model/content-locks.ts';
import type { ClusterType } from '../../../model/model.ts';
import type { ContentObject, DebObject } from '../host-content-object.ts';

/** Debian packages that an object selects by name, for one base. */
export type DebSelection = {
  /** Name of the DebianBase. */
  readonly base: string;
  /** 'name' or 'name=version', sorted. */
  readonly packages: readonly string[];
  readonly at: ContentObject['at'];
};

/** Key of a selection in `spec.debs` of the lock file: 'factory-12: mosquitto nginx=1.22.1-9'. */
export const selectionKey = ({ base, packages }: DebSelection): string => `${base}: ${packages.join(' ')}`;

/**
 * The selection of an entry that names packages; undefined for an entry with `url` or `source`.
 * @throws FleetError REFERENCE_MISSING if the cluster type has no DebianBase
 */
export const selectionOf = (
  { packages, at }: DebObject,
  { name, debianBase }: Pick<ClusterType, 'name' | 'debianBase'>,
): DebSelection | undefined => {
  if (packages === undefined) return undefined;
  if (debianBase === undefined) {
    throw new FleetError(
      'REFERENCE_MISSING',
      `Debian packages are named without an address, but cluster type ${name} has no debianBase`,
      { at, hint: `Write a DebianBase object and name it under spec.debianBase of cluster type ${name}` },
    );
  }
  return { base: debianBase, packages: [...new Set(packages)].toSorted(compareBytes), at };
};

/**
 * Replaces entries that name packages by the locked addresses of these packages and their dependencies; each address once.
 * @throws FleetError CONTENT_UNPINNED for a selection without a lock entry, REFERENCE_MISSING
 */
export const withLockedDebs = (
  debs: readonly DebObject[],
  clusterType: ClusterType,
  locks: ContentLocks,
): readonly ContentObject[] => {
  const seen = new Set(debs.flatMap(({ url }) => (url === undefined ? [] : [url])));
  return debs.flatMap((entry): readonly ContentObject[] => {
    const selection = selectionOf(entry, clusterType);
    if (!selection) return [entry];
    const addresses = locks.debs.get(selectionKey(selection));
    if (!addresses) {
      throw new FleetError(
        'CONTENT_UNPINNED',
        `the dependencies of ${selection.packages.join(', ')} on ${selection.base} are not locked`,
        { at: entry.at, hint: 'Run fleet-scheduler images lock and commit images.lock.yaml' },
      );
    }
    const fresh = addresses.filter((url) => !seen.has(url));
    for (const url of fresh) seen.add(url);
    return fresh.map((url) => ({ url, sha256: undefined, source: undefined, at: entry.at }));
  });
};
