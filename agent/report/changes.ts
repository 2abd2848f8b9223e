import type { Json } from '#bundles/canonical';
import type { StepResult } from '../apply/target.ts';

/** Objects one event names, and the bytes they may take: a line of a report is read up to 64 KiB. */
const MAX_OBJECTS = 200;
const MAX_BYTES = 40 << 10;

/** The first objects of a list that fit an event, and how many it leaves out. */
export const listed = <T extends Json>(
  objects: readonly T[],
): { readonly shown: readonly T[]; readonly more: number } => {
  const shown: T[] = [];
  let bytes = 0;
  for (const object of objects) {
    bytes += Buffer.byteLength(JSON.stringify(object)) + 1;
    if (shown.length === MAX_OBJECTS || bytes > MAX_BYTES) break;
    shown.push(object);
  }
  return { shown, more: objects.length - shown.length };
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
