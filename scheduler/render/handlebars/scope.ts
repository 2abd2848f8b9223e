import { isList, isMap, lookup, type Value } from '../go/value.ts';
import type { Run } from '../run.ts';

/** What `@index`, `@key`, `@first` and `@last` are in one turn of each. */
export type Turn = {
  readonly key: Value;
  readonly index: number;
  readonly first: boolean;
  readonly last: boolean;
  readonly outer: Turn | undefined;
};

/** Block parameters: `as |value key|`. */
export type Names = {
  readonly values: ReadonlyMap<string, Value>;
  readonly outer: Names | undefined;
};

/** Inline partials in reach. */
export type Partials = { readonly own: ReadonlyMap<string, Render>; readonly outer: Partials | undefined };

/** Where a template stands: its context, those around it, and the names in reach. */
export type Scope = {
  readonly context: Value;
  /** The scope `../` means. */
  readonly outer: Scope | undefined;
  readonly turn: Turn | undefined;
  readonly names: Names | undefined;
  readonly partials: Partials | undefined;
};

export type Evaluate = (run: Run, scope: Scope) => Value;

/** Writes a piece of the template into the run. */
export type Render = (run: Run, scope: Scope) => void;

/** The scope of a block. As in Handlebars, a block with the same context is no further level for `../`. */
export const enter = (
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

/** One step of a path: a key of a map, a position or `length` of a list. Own properties only, `undefined` for none. */
export const readPart = (value: Value, part: string): Value => {
  if (isList(value)) {
    if (part === 'length') return value.length;
    return /^(?:0|[1-9]\d*)$/.test(part) ? value[Number(part)] : undefined;
  }
  return isMap(value) ? lookup(value, part) : undefined;
};
