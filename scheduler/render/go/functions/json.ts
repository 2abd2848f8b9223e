import { parseJson } from '#bundles/json/parse-json';
import { checkDepth, checkLength, fail, type Run, chargeSteps } from '../../run.ts';
import { GoContext } from '../values/go-context.ts';
import { float, isInt, WholeFloat } from '../../../model/go/number.ts';
import { Opaque } from '../values/opaque.ts';
import { goText } from '../print.ts';
import { type Dict, formOf, isList, sortedEntries, type Value } from '../values/value.ts';
import { type FunctionTable, fixed, withMustVariants } from './template-function.ts';

type Style = { readonly indent: string; readonly html: boolean };

const HTML: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** Go's encoder escapes characters that are special in HTML, or in JavaScript before ES2019. */
const text = (value: string, style: Style): string =>
  JSON.stringify(value.toWellFormed()).replace(
    style.html ? /[<>&\u2028\u2029]/g : /[\u2028\u2029]/g,
    (mark) => HTML[mark] ?? mark,
  );

const wrap = (
  run: Run,
  parts: readonly string[],
  brackets: '[]' | '{}',
  style: Style,
  depth: number,
): string => {
  if (parts.length === 0) return brackets;
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  checkLength(run, length);
  chargeSteps(run, length >>> 6);
  if (style.indent === '') return brackets[0] + parts.join(',') + brackets[1];
  const line = `\n${style.indent.repeat(depth)}`;
  return `${brackets[0]}${line}${style.indent}${parts.join(`,${line}${style.indent}`)}${line}${brackets[1]}`;
};

const fraction = (run: Run, value: number): string => {
  if (!Number.isFinite(value)) return fail(run, `${String(value)} has no form in JSON`);
  return JSON.stringify(value);
};

const encode = (run: Run, value: Value, style: Style, depth = 0): string => {
  chargeSteps(run, 1);
  checkDepth(run, depth, 'a value is');
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') {
    chargeSteps(run, value.length >>> 6);
    return text(value, style);
  }
  if (typeof value === 'boolean' || typeof value === 'bigint' || isInt(value)) return String(value);
  if (typeof value === 'number') return fraction(run, value);
  if (value instanceof WholeFloat) return fraction(run, value.value);
  if (value instanceof Opaque) return text(value.encoded, style);
  if (isList(value)) {
    if (formOf(value)?.nil) return 'null';
    const items = value.map((item) => encode(run, item, style, depth + 1));
    return wrap(run, items, '[]', style, depth);
  }
  const entries: readonly (readonly [Value, Value])[] =
    value instanceof GoContext ? value.entries() : sortedEntries(value);
  const colon = style.indent === '' ? ':' : ': ';
  const members = entries.map(
    ([key, item]) => text(goText(run, key), style) + colon + encode(run, item, style, depth + 1),
  );
  return wrap(run, members, '{}', style, depth);
};

/** A JSON value as Go decodes it into interface{}: every number is a float64. */
const decoded = (run: Run, value: unknown, depth = 0): Value => {
  chargeSteps(run, 1);
  checkDepth(run, depth, 'a value is');
  if (typeof value === 'number') return float(value);
  if (Array.isArray(value)) return value.map((item) => decoded(run, item, depth + 1));
  if (typeof value !== 'object' || value === null) return value as Value;
  const map = Object.create(null) as Dict;
  for (const [key, item] of Object.entries(value)) map[key] = decoded(run, item, depth + 1);
  run.made.add(map);
  return map;
};

const parse = (run: Run, json: string): Value => {
  chargeSteps(run, json.length >>> 4);
  let value: unknown;
  try {
    value = parseJson(json);
  } catch (cause) {
    return fail(run, `this is not JSON: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  return decoded(run, value);
};

/**
 * In Kalypso toJson returns an empty text for maps that came from configuration (behaviour spec 2.6); here it encodes them.
 */
const ALL: FunctionTable = {
  toJson: fixed(['any'], (run, value) => encode(run, value, { indent: '', html: true })),
  toRawJson: fixed(['any'], (run, value) => encode(run, value, { indent: '', html: false })),
  toPrettyJson: fixed(['any'], (run, value) => encode(run, value, { indent: '  ', html: true })),
  fromJson: fixed(['string'], parse),
};

export const JSONS: FunctionTable = { ...ALL, ...withMustVariants(ALL) };
