import { fail, type Run } from '../../run.ts';
import { int64, type SizedInt } from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { fixed, type FunctionTable } from './template-function.ts';
import { byBytes } from '../values/value.ts';

/** Versions as in the library of sprig 2.22: a leading v is accepted, minor and patch numbers are optional. */
type Version = {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly pre: string;
  readonly metadata: string;
};

const TAIL = '(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?';
const VERSION = new RegExp(`^v?([0-9]+)(\\.[0-9]+)?(\\.[0-9]+)?${TAIL}$`);

const MAX_SEGMENT = (1n << 63n) - 1n;

/** A longer text is not a version, and the patterns above would take long on it. */
const MAX_LENGTH = 1024;

const segment = (text: string | undefined): bigint | undefined => {
  const digits = (text ?? '0').replace(/^\./, '');
  const value = digits.length > 1000 ? MAX_SEGMENT + 1n : BigInt(digits);
  return value > MAX_SEGMENT ? undefined : value;
};

const parseVersion = (text: string): Version | undefined => {
  const match = text.length > MAX_LENGTH ? null : VERSION.exec(text);
  if (!match) return undefined;
  const [major, minor, patch] = [match[1], match[2], match[3]].map(segment);
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  return { major, minor, patch, pre: match[4] ?? '', metadata: match[5] ?? '' };
};

const MAX_NUMBER = (1n << 64n) - 1n;

const asNumber = (part: string): bigint | undefined => {
  if (!/^[0-9]+$/.test(part)) return undefined;
  const value = BigInt(part);
  return value > MAX_NUMBER ? undefined : value;
};

const comparePart = (a: string, b: string): number => {
  if (a === b) return 0;
  if (a === '' || b === '') return a === '' ? -1 : 1;
  const [x, y] = [asNumber(a), asNumber(b)];
  if (x === undefined && y === undefined) return byBytes(a, b) > 0 ? 1 : -1;
  if (x === undefined || y === undefined) return y === undefined ? -1 : 1;
  return x > y ? 1 : -1;
};

const comparePre = (a: string, b: string): number => {
  if (a === '' || b === '') return Number(a === '') - Number(b === '');
  const [left, right] = [a.split('.'), b.split('.')];
  for (let at = 0; at < Math.max(left.length, right.length); at += 1) {
    const order = comparePart(left[at] ?? '', right[at] ?? '');
    if (order !== 0) return order;
  }
  return 0;
};

const order = (a: bigint, b: bigint): number => (a < b ? -1 : Number(a > b));

/** Negative if `a` is older; metadata is ignored. */
const compareVersions = (a: Version, b: Version): number =>
  order(a.major, b.major) || order(a.minor, b.minor) || order(a.patch, b.patch) || comparePre(a.pre, b.pre);

/** `>= 1.2.x`: an operator and a version, in which some numbers may be wildcards. */
type Constraint = {
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
const meets = (version: Version, constraint: Constraint): boolean => {
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

const PART = '[0-9|xX*]+';
const LOOSE = `v?(${PART})(\\.${PART})?(\\.${PART})?${TAIL}`;
const CONSTRAINT = new RegExp(
  `^[\\t\\n\\f\\r ]*(!=|>=|=>|<=|=<|~>|[=<>~^]|)[\\t\\n\\f\\r ]*${LOOSE}[\\t\\n\\f\\r ]*$`,
);
const RANGE = new RegExp(
  `[\\t\\n\\f\\r ]*(${LOOSE})[\\t\\n\\f\\r ]+-[\\t\\n\\f\\r ]+(${LOOSE})[\\t\\n\\f\\r ]*`,
  'g',
);

const isAny = (part: string | undefined): boolean => /^\.?[xX*]$/.test(part ?? '');

const parseConstraint = (run: Run, text: string): Constraint => {
  const bad = (): never => fail(run, `${JSON.stringify(text)} is not a constraint on a version`);
  const match = CONSTRAINT.exec(text);
  if (!match) return bad();
  const [, operator = '', major = '', minor, patch, pre] = match;
  const tail = pre === undefined ? '' : `-${pre}`;
  const anyMinor = !isAny(major) && (minor === undefined || isAny(minor));
  const anyPatch = !isAny(major) && !anyMinor && isAny(patch);
  const lower = anyPatch ? '.0' : (patch ?? '');
  const rest = anyMinor ? '.0.0' : `${minor ?? ''}${lower}`;
  const base = parseVersion(isAny(major) ? '0.0.0' : `${major}${rest}${tail}`) ?? bad();
  return { operator, base, anyMinor, anyPatch, any: isAny(major) || anyMinor || anyPatch };
};

const check = (run: Run, constraint: string, text: string): boolean => {
  if (constraint.length > MAX_LENGTH) return fail(run, 'the constraint on a version is too long');
  const plain = constraint.replace(RANGE, (...found: readonly string[]) => `>= ${found[1]}, <= ${found[7]}`);
  const alternatives = plain.split('||').map((all) => all.split(',').map((one) => parseConstraint(run, one)));
  const version = read(run, text);
  return alternatives.some((all) => all.every((one) => meets(version, one)));
};

const read = (run: Run, text: string): Version =>
  parseVersion(text) ?? fail(run, `${JSON.stringify(text)} is not a semantic version`);

const shown = ({ major, minor, patch, pre, metadata }: Version): string =>
  `${major}.${minor}.${patch}${pre && `-${pre}`}${metadata && `+${metadata}`}`;

const number = (value: bigint): SizedInt =>
  int64(Number.isSafeInteger(Number(value)) ? Number(value) : value);

const semver = (run: Run, text: string): Opaque => {
  const version = read(run, text);
  const fields = new Map<string, string | SizedInt>([
    ['Major', number(version.major)],
    ['Minor', number(version.minor)],
    ['Patch', number(version.patch)],
    ['Prerelease', version.pre],
    ['Metadata', version.metadata],
    ['Original', text],
    ['String', shown(version)],
  ]);
  return new Opaque('*semver.Version', 'ptr', shown(version), shown(version), fields);
};

export const SEMVER: FunctionTable = {
  semver: fixed(['string'], semver),
  semverCompare: fixed(['string', 'string'], check),
};
