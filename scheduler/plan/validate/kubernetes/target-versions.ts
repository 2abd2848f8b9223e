import semver from 'semver';
import { FleetError } from '#bundles/errors';

/**
 * The minor versions (of 1.x) that an object is checked against. With `every` it must be valid in all of them; otherwise the
 * cluster's version is unknown, and one that accepts it is enough.
 */
export type TargetVersions = { readonly minors: readonly number[]; readonly every: boolean };

/**
 * The known versions that match `requirements.kubernetes` of a cluster type, a semver range; all of them without one.
 * @throws FleetError FIELD_INVALID for an invalid range
 */
export const targetVersions = (
  requirement: string | undefined,
  first: number,
  last: number,
): TargetVersions => {
  const known = Array.from({ length: last - first + 1 }, (_, at) => first + at);
  if (requirement === undefined) return { minors: known, every: false };
  const range = semver.validRange(requirement);
  if (range === null) {
    throw new FleetError(
      'FIELD_INVALID',
      `${JSON.stringify(requirement)} is not a range of Kubernetes versions`,
      {
        hint: 'Write it like >=1.31 <1.34',
      },
    );
  }
  return { minors: known.filter((minor) => hasMinor(range, minor)), every: true };
};

/** Whether the range includes any patch release of this minor version. */
const hasMinor = (range: string, minor: number): boolean =>
  semver.intersects(range, `>=1.${minor}.0 <1.${minor + 1}.0-0`);
