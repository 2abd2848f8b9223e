import semver from 'semver';
import { FleetError } from '#bundles/errors';

/**
 * The minor versions (of 1.x) an object is judged for. `every`: it must be right in all of them; else, where nobody said
 * which version a cluster has, one that takes it is enough.
 */
export type TargetVersions = { readonly minors: readonly number[]; readonly every: boolean };

/**
 * What `requirements.kubernetes` of a cluster type, a semver range, leaves of the versions that are known.
 * @throws FleetError FIELD_INVALID when it is no range
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
      `${JSON.stringify(requirement)} is no range of Kubernetes versions`,
      {
        hint: 'Write it like >=1.31 <1.34',
      },
    );
  }
  return { minors: known.filter((minor) => hasMinor(range, minor)), every: true };
};

/** Does the range hold any patch of this minor? */
const hasMinor = (range: string, minor: number): boolean =>
  semver.intersects(range, `>=1.${minor}.0 <1.${minor + 1}.0-0`);
