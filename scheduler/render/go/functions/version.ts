import { byBytes } from '../../../model/go/value.ts';

/** Versions as in the library of sprig 2.22: a leading v is accepted, minor and patch numbers are optional. */
export type Version = {
  readonly major: bigint;
  readonly minor: bigint;
  readonly patch: bigint;
  readonly pre: string;
  readonly metadata: string;
};

export const TAIL = '(?:-([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?(?:\\+([0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*))?';
const VERSION = new RegExp(`^v?([0-9]+)(\\.[0-9]+)?(\\.[0-9]+)?${TAIL}$`);

const MAX_SEGMENT = (1n << 63n) - 1n;

/** A longer text is not a version, and the patterns above would take long on it. */
export const MAX_LENGTH = 1024;

const segment = (text: string | undefined): bigint | undefined => {
  const digits = (text ?? '0').replace(/^\./, '');
  const value = digits.length > 1000 ? MAX_SEGMENT + 1n : BigInt(digits);
  return value > MAX_SEGMENT ? undefined : value;
};

export const parseVersion = (text: string): Version | undefined => {
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
export const compareVersions = (a: Version, b: Version): number =>
  order(a.major, b.major) || order(a.minor, b.minor) || order(a.patch, b.patch) || comparePre(a.pre, b.pre);
