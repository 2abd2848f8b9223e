import { isList, isMap, lookup, type Value } from '../go/values/value.ts';
import type { Run } from '../run.ts';

/** The values of `@index`, `@key`, `@first` and `@last` in one iteration of each. */
export type Iteration = {
  readonly key: Value;
  readonly index: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly outer: Iteration | undefined;
};

/** Block parameters: `as |value key|`. */
export type Names = {
  readonly values: ReadonlyMap<string, Value>;
  readonly outer: Names | undefined;
};

/** Inline partials in scope. */
export type Partials = { readonly own: ReadonlyMap<string, Render>; readonly outer: Partials | undefined };

/** The scope of a part of a template: its context, the outer ones, and the names in scope. */
export type Scope = {
  readonly context: Value;
  /** The scope that `../` refers to. */
  readonly outer: Scope | undefined;
  readonly turn: Iteration | undefined;
  readonly names: Names | undefined;
  readonly partials: Partials | undefined;
};

export type Evaluate = (run: Run, scope: Scope) => Value;

/** Renders a part of the template into the run. */
export type Render = (run: Run, scope: Scope) => void;

/** The scope of a block. As in Handlebars, a block with the same context adds no level for `../`. */
export const enterBlock = (
  scope: Scope,
  context: Value,
  turn = scope.turn,
  values?: ReadonlyMap<string, Value>,
): Scope => ({
  context,
  outer: context === scope.context ? scope.outer : scope,
  turn,
  names: values ? { values, outer: scope.names } : scope.names,
  partials: scope.partials,
});

/** Reads one part of a path: a key of a map, an index or `length` of a list. Own properties only; undefined without one. */
export const readPart = (value: Value, part: string): Value => {
  if (isList(value)) {
    if (part === 'length') return value.length;
    return /^(?:0|[1-9]\d*)$/.test(part) ? value[Number(part)] : undefined;
  }
  return isMap(value) ? lookup(value, part) : undefined;
};
