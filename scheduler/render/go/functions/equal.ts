import { checkDepth, type Run, chargeSteps } from '../../run.ts';
import { isFloat, isInt, plainInt, toNumber } from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { typeName } from '../type-name.ts';
import { formOf, isList, isMap, lookupAny, sizeOf, sortedEntries, type Value } from '../values/value.ts';

/** Go's reflect.DeepEqual: equal types and contents. */
export const deepEqual = (run: Run, a: Value, b: Value, depth = 0): boolean => {
  chargeSteps(run, 1);
  checkDepth(run, depth, 'a value is');
  if (typeName(run, a) !== typeName(run, b)) return false;
  if (isFloat(a) && isFloat(b)) return toNumber(a) === toNumber(b);
  if (isInt(a) && isInt(b)) return plainInt(a) === plainInt(b);
  if (a instanceof Opaque && b instanceof Opaque) return a.text === b.text;
  const sameItem = (item: Value, other: Value): boolean => deepEqual(run, item, other, depth + 1);
  if (isList(a) && isList(b)) return sameLists(a, b, sameItem);
  if (isMap(a) && isMap(b))
    return (
      sizeOf(a) === sizeOf(b) &&
      sortedEntries(a).every(([key, item]) => {
        const other = lookupAny(b, key);
        return other !== undefined && sameItem(item, other);
      })
    );
  // null and undefined are equal.
  return a === b || (a ?? null) === (b ?? null);
};

/** A nil slice differs from an empty one. */
const sameLists = (
  a: readonly Value[],
  b: readonly Value[],
  sameItem: (item: Value, other: Value) => boolean,
): boolean =>
  (formOf(a)?.nil ?? false) === (formOf(b)?.nil ?? false) &&
  a.length === b.length &&
  a.every((item, index) => sameItem(item, b[index]));
