import type { Json } from '#bundles/json/canonical';
import type { CheckResult, StepResult } from '../../model/target.ts';

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
  return {
    changes: shown,
    ...(more > 0 ? { more } : {}),
    unchanged: results.length - changed.length,
  };
};
