import { compareVersions, type Version } from './version.ts';

/** `>= 1.2.x`: an operator and a version, in which some numbers may be wildcards. */
export type Constraint = {
  readonly operator: string;
  readonly base: Version;
  readonly anyMinor: boolean;
  readonly anyPatch: boolean;
  /** Whether any number is a wildcard. */
  readonly any: boolean;
};

const upTo = (version: Version, { base, any, anyMinor }: Constraint, inclusive: boolean): boolean => {
  if (!any) return compareVersions(version, base) < Number(inclusive);
  return version.major <= base.major && (version.minor <= base.minor || anyMinor);
};

const tilde = (version: Version, { base, anyMinor, anyPatch }: Constraint): boolean => {
  if (compareVersions(version, base) < 0) return false;
  const isZero = base.major === 0n && base.minor === 0n && base.patch === 0n;
  if (isZero && !anyMinor && !anyPatch) return true;
  return version.major === base.major && (version.minor === base.minor || anyMinor);
};

const differs = (version: Version, { base, any, anyMinor }: Constraint): boolean => {
  if (!any) return compareVersions(version, base) !== 0;
  return version.major !== base.major || (version.minor !== base.minor && !anyMinor);
};

/**
 * Whether a version satisfies a constraint. A pre-release satisfies only a constraint that names a pre-release, or a `!=`
 * without wildcards.
 */
export const meets = (version: Version, constraint: Constraint): boolean => {
  const { operator, base, any } = constraint;
  const unwanted = version.pre !== '' && base.pre === '';
  if (unwanted && !(operator === '!=' && !any)) return false;
  switch (operator) {
    case '!=':
      return differs(version, constraint);
    case '>':
      return compareVersions(version, base) > 0;
    case '>=':
    case '=>':
      return compareVersions(version, base) >= 0;
    case '<':
      return upTo(version, constraint, false);
    case '<=':
    case '=<':
      return upTo(version, constraint, true);
    case '~':
    case '~>':
      return tilde(version, constraint);
    case '^':
      return compareVersions(version, base) >= 0 && version.major === base.major;
    default:
      return any ? tilde(version, constraint) : compareVersions(version, base) === 0;
  }
};
