import { defined } from '#bundles/defined';
import type { Json } from '#bundles/json/canonical';
import { changedValues } from '#bundles/formats/author-schema/changed-values';
import type { CheckResult, StepResult } from '../../model/target.ts';
import type { PackageRef } from '../applied/package-ref.ts';

/** Limits for the objects that one event lists; the reader accepts report lines up to 64 KiB. */
const MAX_OBJECTS = 200;
const MAX_BYTES = 40 << 10;
/** Limit for checks in an event that also lists changes. */
const MAX_CHECK_BYTES = 10 << 10;

/** The first objects of a list that fit into an event, and the number left out. */
export const listed = <T extends Json>(
  objects: readonly T[],
  maxBytes = MAX_BYTES,
): { readonly shown: readonly T[]; readonly more: number } => {
  const shown: T[] = [];
  let bytes = 0;
  for (const object of objects) {
    bytes += Buffer.byteLength(JSON.stringify(object)) + 1;
    if (shown.length === MAX_OBJECTS || bytes > maxBytes) break;
    shown.push(object);
  }
  return { shown, more: objects.length - shown.length };
};

/** Failed checks with their output, for the detail of an event about a failure. */
export const failedChecksOf = (checks: readonly CheckResult[]): { readonly checks?: readonly Json[] } => {
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  return failed.length === 0 ? {} : { checks: listed(failed, MAX_CHECK_BYTES).shown };
};

/** The changes of an operation by object, for an event's detail. Unchanged objects are only counted. */
export const changesOf = (results: readonly StepResult[]): { readonly [key: string]: Json } => {
  const changed = results.filter(({ outcome }) => outcome !== 'unchanged');
  const { shown, more } = listed(changed.map(({ key, outcome, reason }) => ({ key, outcome, reason })));
  return defined({
    changes: shown,
    more: more > 0 ? more : undefined,
    unchanged: results.length - changed.length,
  });
};

/** Limit for values in an event that also lists changes and checks. */
const MAX_VALUE_BYTES = 8 << 10;

/**
 * The digest of the values that a package takes, and those that differ from what it took before, by name with old and new value.
 */
export const valuesOf = (
  before: PackageRef | undefined,
  after: PackageRef | undefined,
): { readonly taken?: Json; readonly values?: readonly Json[]; readonly moreValues?: number } => {
  const [old, now] = [before?.taken, after?.taken];
  // A reference that does not say what it takes cannot be compared.
  if (!now || (before && !old)) return {};
  const hidden = new Set([...(old?.hidden ?? []), ...(now.hidden ?? [])]);
  const { shown, more } = listed(changedValues(old?.values ?? {}, now.values, hidden), MAX_VALUE_BYTES);
  return defined({
    taken: now.digest,
    values: shown.length > 0 ? shown : undefined,
    moreValues: more > 0 ? more : undefined,
  });
};
