import { fail, type Run } from '../../run.ts';
import { int64, type SizedInt } from '../../../model/go/number.ts';
import { Opaque } from '../../../model/go/opaque.ts';
import { type Constraint, meets } from './semver-constraint.ts';
import { type FunctionTable, fixed } from './template-function.ts';
import { MAX_LENGTH, parseVersion, TAIL, type Version } from './version.ts';

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
  const bad = (): never => fail(run, `${JSON.stringify(text)} is no constraint on a version`);
  const match = CONSTRAINT.exec(text);
  if (!match) return bad();
  const [, operator = '', major = '', minor, patch, pre] = match;
  const tail = pre === undefined ? '' : `-${pre}`;
  const [version, anyMinor, anyPatch] = isAny(major)
    ? ['0.0.0', false, false]
    : minor === undefined || isAny(minor)
      ? [`${major}.0.0${tail}`, true, false]
      : isAny(patch)
        ? [`${major}${minor}.0${tail}`, false, true]
        : [`${major}${minor}${patch ?? ''}${tail}`, false, false];
  const base = parseVersion(version) ?? bad();
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
  parseVersion(text) ?? fail(run, `${JSON.stringify(text)} is no semantic version`);

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
