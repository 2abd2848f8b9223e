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
  if (isList(a) && isList(b) && (formOf(a)?.nil ?? false) !== (formOf(b)?.nil ?? false)) return false;
  if (isList(a) && isList(b))
    return a.length === b.length && a.every((item, index) => deepEqual(run, item, b[index], depth + 1));
  if (isMap(a) && isMap(b))
    return (
      sizeOf(a) === sizeOf(b) &&
      sortedEntries(a).every(([key, item]) => {
        const other = lookupAny(b, key);
        return other !== undefined && deepEqual(run, item, other, depth + 1);
      })
    );
  // null and undefined are equal.
  return a === b || (a ?? null) === (b ?? null);
};
