import { describeValue, isList, isMap, sortedEntries, type Value } from '../go/values/value.ts';
import { fail, type Run, chargeSteps } from '../run.ts';
import { type Evaluate, enterBlock, type Render, type Scope } from './scope.ts';
import { isTrue, isZero } from './truth.ts';

/** The two branches of a block; `names` are its block parameters. */
export type Block = {
  readonly at: number;
  readonly body: Render;
  readonly otherwise: Render;
  readonly names: readonly string[];
};

const bind = (names: readonly string[], values: readonly Value[]): ReadonlyMap<string, Value> | undefined =>
  names.length === 0 ? undefined : new Map(names.map((name, index) => [name, values[index]]));

/** `if`, or `unless` when `wanted` is false. */
export const ifBlock =
  (condition: Evaluate, wanted: boolean, includeZero: boolean, { body, otherwise }: Block): Render =>
  (run, scope) => {
    chargeSteps(run, 1);
    const value = condition(run, scope);
    const holds = isTrue(value) || (includeZero && isZero(value));
    (holds === wanted ? body : otherwise)(run, scope);
  };

export const withBlock =
  (subject: Evaluate, { body, otherwise, names }: Block): Render =>
  (run, scope) => {
    chargeSteps(run, 1);
    const value = subject(run, scope);
    if (isTrue(value) || isZero(value)) body(run, enterBlock(scope, value, scope.turn, bind(names, [value])));
    else otherwise(run, scope);
  };

/** Lists in their order, maps sorted by key, so that the same values give the same bytes. */
const elements = (run: Run, value: Value): readonly (readonly [Value, Value])[] => {
  if (isList(value)) return value.map((item, index) => [index, item] as const);
  if (isMap(value)) return sortedEntries(value);
  if (value === null || value === undefined || value === false) return [];
  return fail(run, `each cannot go through ${describeValue(value)}`);
};

export const eachBlock =
  (subject: Evaluate, { at, body, otherwise, names }: Block): Render =>
  (run, scope) => {
    const value = subject(run, scope);
    run.at = at;
    const items = elements(run, value);
    if (items.length === 0) {
      otherwise(run, scope);
      return;
    }
    for (const [index, [key, item]] of items.entries()) {
      run.at = at;
      chargeSteps(run, 1);
      const turn = { key, index, first: index === 0, last: index === items.length - 1, outer: scope.turn };
      body(run, enterBlock(scope, item, turn, bind(names, [item, key])));
    }
  };

/** `{{#value}}`: like each for a list, like if for a boolean, like with for any other value. */
export const plainBlock = (subject: Evaluate, block: Block): Render => {
  const each = eachBlock(subject, block);
  return (run, scope: Scope) => {
    const value = subject(run, scope);
    if (isList(value)) {
      each(run, scope);
    } else {
      chargeSteps(run, 1);
      if (value === true) block.body(run, scope);
      else if (value === false || value === null || value === undefined) block.otherwise(run, scope);
      else block.body(run, enterBlock(scope, value));
    }
  };
};
