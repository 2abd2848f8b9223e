import { isRecord } from '#bundles/is-record';
import { WholeFloat } from './go/number.ts';

/**
 * A value as JSON, for digests of inputs: two values that print differently in a template have different texts. Maps and sets, bigints, whole
 * floats and numbers that JSON does not have are tagged. A member that is undefined counts as absent.
 */
export const exactText = (value: unknown): string => JSON.stringify(value, replace);

/** Begins the key of a tag. An object of an author with such a key is tagged as a whole. */
const TAG = '\0';

function replace(this: unknown, key: string, given: unknown): unknown {
  // JSON has called toJSON of `given`.
  const one: unknown = (this as Record<string, unknown>)[key];
  if (one instanceof Map) return { [`${TAG}map`]: [...one] };
  if (one instanceof Set) return { [`${TAG}set`]: [...one] };
  if (one instanceof WholeFloat) return { [`${TAG}float`]: String(one.value) };
  if (typeof one === 'bigint') return { [`${TAG}integer`]: String(one) };
  if (typeof one === 'number' && (!Number.isFinite(one) || Object.is(one, -0)))
    return { [`${TAG}number`]: Object.is(one, -0) ? '-0' : String(one) };
  return isRecord(one) && Object.keys(one).some((name) => name.startsWith(TAG))
    ? { [`${TAG}object`]: Object.entries(one) }
    : given;
}
