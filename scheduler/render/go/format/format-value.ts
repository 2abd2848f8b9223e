import { checkDepth, checkLength, fail, type Run, chargeSteps } from '../../run.ts';
import { GoContext } from '../values/go-context.ts';
import {
  type Float,
  type Int,
  isFloat,
  isInt,
  isUint64,
  plainInt,
  SizedInt,
  toNumber,
  WholeFloat,
} from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { goText } from '../print.ts';
import { typeName } from '../type-name.ts';
import { type Dict, formOf, isList, sortedEntries, type Value, type ValueMap } from '../values/value.ts';
import { type Directive, pad } from './directive.ts';
import { formatFloat } from './format-float.ts';
import { formatInteger } from './format-integer.ts';
import { formatText } from './format-text.ts';

type Single = boolean | string | Int | Float | Opaque;

const isSigned = (value: Int): boolean =>
  !isUint64(value) && !(value instanceof SizedInt && value.type === 'uint8');

const single = (run: Run, value: Single, directive: Directive): string | undefined => {
  if (typeof value === 'boolean')
    return directive.verb === 't' || directive.verb === 'v' ? pad(run, String(value), directive) : undefined;
  if (typeof value === 'string') return formatText(run, value, directive);
  if (isInt(value)) return formatInteger(run, BigInt(plainInt(value)), isSigned(value), directive);
  if (isFloat(value)) return formatFloat(run, toNumber(value), directive);
  const text = directive.sharpV ? undefined : formatText(run, value.text, directive);
  return text ?? fail(run, `printf cannot write a ${value.type} with %${directive.verb}`);
};

const isSingle = (value: Value): value is Single =>
  typeof value !== 'object' ||
  value instanceof WholeFloat ||
  value instanceof SizedInt ||
  value instanceof Opaque;

/** As in Go, an invalid verb for a value is reported in the output. */
const wrongVerb = (run: Run, value: Value, directive: Directive): string => {
  const head = `%!${directive.verb}(`;
  if (value === undefined || value === null) return `${head}<nil>)`;
  return `${head}${typeName(run, value)}=${formatValue(run, value, { ...directive, verb: 'v' })})`;
};

/** The parts of a list or map in brackets. @throws FleetError TEMPLATE_LIMIT */
const enclosed = (
  run: Run,
  parts: readonly string[],
  open: string,
  close: string,
  between: string,
): string => {
  const length = parts.reduce((sum, part) => sum + part.length + between.length, 0);
  checkLength(run, length);
  chargeSteps(run, length >>> 6);
  return open + parts.join(between) + close;
};

const fields = (
  run: Run,
  entries: readonly (readonly [Value, Value])[],
  directive: Directive,
  depth: number,
): string[] =>
  entries.map(
    ([key, item]) => `${element(run, key, directive, depth)}:${element(run, item, directive, depth)}`,
  );

const structure = (run: Run, value: GoContext, directive: Directive, depth: number): string => {
  if (directive.sharpV) return fail(run, 'printf cannot write the context itself with %#v');
  const parts = value
    .entries()
    .map(([name, item]) => (directive.plusV ? `${name}:` : '') + element(run, item, directive, depth));
  return enclosed(run, parts, '{', '}', ' ');
};

const container = (
  run: Run,
  value: readonly Value[] | Dict | ValueMap,
  directive: Directive,
  depth: number,
): string => {
  const go = directive.sharpV ? typeName(run, value) : '';
  if (directive.sharpV && formOf(value)?.nil) return `${go}(nil)`;
  const between = directive.sharpV ? ', ' : ' ';
  if (isList(value)) {
    const parts = value.map((item) => element(run, item, directive, depth));
    return enclosed(run, parts, directive.sharpV ? `${go}{` : '[', directive.sharpV ? '}' : ']', between);
  }
  const parts = fields(run, sortedEntries(value), directive, depth);
  return enclosed(run, parts, directive.sharpV ? `${go}{` : 'map[', directive.sharpV ? '}' : ']', between);
};

/** An element of a list or map: nil is printed alike under every verb. */
const element = (run: Run, value: Value, directive: Directive, depth: number): string => {
  if (value === null || value === undefined) return directive.sharpV ? 'interface {}(nil)' : '<nil>';
  return formatValue(run, value, directive, depth + 1);
};

/** Formats one operand. As in Go, a verb applies to the elements of a list or map. */
export const formatValue = (run: Run, value: Value, directive: Directive, depth = 0): string => {
  chargeSteps(run, 1 + (typeof value === 'string' ? value.length >>> 4 : 0));
  checkDepth(run, depth, 'a value is');
  if (value === null || value === undefined)
    return directive.verb === 'v' || directive.verb === 'T'
      ? pad(run, '<nil>', directive)
      : wrongVerb(run, value, directive);
  if (directive.verb === 'T' && depth === 0)
    return formatText(run, typeName(run, value), { ...directive, verb: 's' }) ?? '';
  // The output must not depend on an address.
  if (directive.verb === 'p' && depth === 0) return fail(run, 'printf cannot write addresses (%p)');
  if (isSingle(value)) return single(run, value, directive) ?? wrongVerb(run, value, directive);
  if (value instanceof GoContext) return structure(run, value, directive, depth);
  return container(run, value, directive, depth);
};

/** A value with its type, as Go prints surplus operands. */
export const shownWithType = (run: Run, value: Value): string =>
  value === undefined || value === null ? '<nil>' : `${typeName(run, value)}=${goText(run, value)}`;
