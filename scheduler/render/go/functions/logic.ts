import { fail } from '../../run.ts';
import { typeName } from '../type-name.ts';
import { kindOf, truth } from '../../../model/go/value.ts';
import { deepEqual } from './equal.ts';
import { type FunctionTable, fixed, variadic } from './template-function.ts';

/** sprig's defaults, conditions and type checks. `empty` is the negation of Go's truth. */
export const LOGIC: FunctionTable = {
  default: variadic(['any'], 'any', (_run, otherwise, ...given) =>
    given.length > 0 && truth(given[0]) ? given[0] : otherwise,
  ),
  empty: fixed(['any'], (_run, value) => !truth(value)),
  coalesce: variadic([], 'any', (_run, ...values) => values.find(truth) ?? null),
  all: variadic([], 'any', (_run, ...values) => values.every(truth)),
  any: variadic([], 'any', (_run, ...values) => values.some(truth)),
  ternary: fixed(['any', 'any', 'bool'], (_run, yes, no, condition) => (condition ? yes : no)),
  fail: fixed(['string'], (run, message) => fail(run, message)),
  kindOf: fixed(['any'], (_run, value) => kindOf(value)),
  kindIs: fixed(['string', 'any'], (_run, kind, value) => kindOf(value) === kind),
  typeOf: fixed(['any'], (run, value) => typeName(run, value)),
  typeIs: fixed(['string', 'any'], (run, type, value) => typeName(run, value) === type),
  typeIsLike: fixed(['string', 'any'], (run, type, value) => typeName(run, value) === type),
  deepEqual: fixed(['any', 'any'], (run, a, b) => deepEqual(run, a, b)),
};
