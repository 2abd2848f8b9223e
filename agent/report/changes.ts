import type { Json } from '#bundles/canonical';
import type { CheckResult, StepResult } from '../apply/target.ts';

/** Objects one event names, and the bytes they may take: a line of a report is read up to 64 KiB. */
const MAX_OBJECTS = 200;
const MAX_BYTES = 40 << 10;
/** Of an event that lists changes as well. */
const MAX_CHECK_BYTES = 10 << 10;

/** The first objects of a list that fit an event, and how many it leaves out. */
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

/** The checks that failed and what they printed, for the detail of an event that tells of a failure. */
export const failedChecksOf = (checks: readonly CheckResult[]): { readonly checks?: readonly Json[] } => {
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  return failed.length === 0 ? {} : { checks: listed(failed, MAX_CHECK_BYTES).shown };
};

/** What an operation did, object by object, for an event's detail; what stayed as it was is only counted. */
export const changesOf = (results: readonly StepResult[]): { readonly [key: string]: Json } => {
  const changed = results.filter(({ outcome }) => outcome !== 'unchanged');
  const { shown, more } = listed(changed.map(({ key, outcome, reason }) => ({ key, outcome, reason })));
  return {
    changes: shown,
    ...(more > 0 ? { more } : {}),
    unchanged: results.length - changed.length,
  };
};
