import { fail, chargeText, type Run, chargeSteps } from '../../run.ts';
import { unreachable } from '../../../model/unreachable.ts';
import { isFloat, isInt, toNumber, WholeFloat } from '../../../model/go/number.ts';
import { type Dict, describeValue, isList, isMap, type Value, type ValueMap } from '../values/value.ts';

/** The kinds of parameters, named after Go types. */
export type Parameters = {
  /** interface{}: any value; a missing one is passed as null. */
  any: Value;
  string: string;
  int: number;
  /** A float64, or an integer that is converted to one. */
  float: number;
  bool: boolean;
  list: readonly Value[];
  /** A map; nil is passed as an empty one. */
  map: Dict | ValueMap;
};

type ParameterName = keyof Parameters;

type Values<Names extends readonly ParameterName[]> = { [Index in keyof Names]: Parameters[Names[Index]] };

/** A template function. `rest` is the kind of all further arguments; undefined when it takes none. */
export type TemplateFunction = {
  readonly parameters: readonly ParameterName[];
  readonly rest: ParameterName | undefined;
  readonly body: (run: Run, ...values: readonly Value[]) => Value;
};

export type FunctionTable = Readonly<Record<string, TemplateFunction>>;

export const fixed = <const Names extends readonly ParameterName[]>(
  parameters: Names,
  body: (run: Run, ...values: Values<Names>) => Value,
): TemplateFunction => ({
  parameters,
  rest: undefined,
  body: body as unknown as TemplateFunction['body'],
});

export const variadic = <const Names extends readonly ParameterName[], Rest extends ParameterName>(
  parameters: Names,
  rest: Rest,
  body: (run: Run, ...values: [...Values<Names>, ...Parameters[Rest][]]) => Value,
): TemplateFunction => ({ parameters, rest, body: body as unknown as TemplateFunction['body'] });

/** The same functions under sprig's names for the variants that report errors: `mustFirst` for `first`. */
export const withMustVariants = (table: FunctionTable): FunctionTable =>
  Object.fromEntries(
    Object.entries(table).map(([name, fn]) => [`must${name.slice(0, 1).toUpperCase()}${name.slice(1)}`, fn]),
  );

const EMPTY: Dict = Object.freeze(Object.create(null) as Dict);

const WANTED: Readonly<Record<ParameterName, string>> = {
  any: 'a value',
  string: 'a string',
  int: 'an integer',
  float: 'a number',
  bool: 'a boolean',
  list: 'a list',
  map: 'a map',
};

const isNothing = (value: Value): value is null | undefined => value === undefined || value === null;

const wrong = (run: Run, name: string, index: number, kind: ParameterName, value: Value): never => {
  const hint = isNothing(value) ? 'Give it a value with default' : undefined;
  return fail(
    run,
    `${name} needs ${WANTED[kind]} as argument ${index + 1}, not ${describeValue(value)}`,
    hint,
  );
};

/** Checks one argument and converts it to its parameter's kind. @throws FleetError TEMPLATE_FAILED */
const argument = (
  run: Run,
  name: string,
  { parameters, rest }: TemplateFunction,
  index: number,
  value: Value,
): Value => {
  const kind = parameters[index] ?? rest ?? 'any';
  switch (kind) {
    case 'any':
      return value === undefined ? null : value;
    case 'string':
      if (typeof value !== 'string') return wrong(run, name, index, kind, value);
      // Processing text costs steps, so that a loop over a long text is limited.
      run.stepsLeft -= value.length >>> 6;
      return value;
    case 'int':
      // Go accepts the literal `2.0` as an int; here any whole float is accepted.
      return isInt(value) || value instanceof WholeFloat
        ? toNumber(value)
        : wrong(run, name, index, kind, value);
    case 'float':
      return isInt(value) || isFloat(value) ? toNumber(value) : wrong(run, name, index, kind, value);
    case 'bool':
      return typeof value === 'boolean' ? value : wrong(run, name, index, kind, value);
    case 'list':
      if (!isList(value)) return wrong(run, name, index, kind, value);
      run.stepsLeft -= value.length >>> 3;
      return value;
    case 'map':
      if (isNothing(value)) return EMPTY;
      return isMap(value) ? value : wrong(run, name, index, kind, value);
  }
  return unreachable(kind);
};

/** Calls a function with values, which it converts in place. @param at the place of the call, for errors */
export const callFunction = (
  run: Run,
  name: string,
  fn: TemplateFunction,
  at: Run['at'],
  values: Value[],
): Value => {
  run.at = at;
  for (let index = 0; index < values.length; index += 1)
    values[index] = argument(run, name, fn, index, values[index]);
  chargeSteps(run, 1);
  const result = fn.body(run, ...values);
  if (typeof result === 'string') chargeText(run, result);
  return result;
};

/** Message about a wrong number of arguments; undefined if `count` is valid. */
export const arityProblem = (name: string, fn: TemplateFunction, count: number): string | undefined => {
  const wanted = fn.parameters.length;
  if (fn.rest === undefined ? count === wanted : count >= wanted) return undefined;
  const plural = wanted === 1 ? '' : 's';
  return `${name} takes ${fn.rest === undefined ? '' : 'at least '}${wanted} argument${plural}, not ${count}`;
};
