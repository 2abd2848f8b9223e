import { checkDepth, checkLength, type Run, chargeSteps } from '../run.ts';
import { GO_FIELDS, GoContext } from './values/go-context.ts';
import { formatFloat, SizedInt, WholeFloat } from '../../model/go/number.ts';
import { Opaque } from './values/opaque.ts';
import { isList, sortedEntries, type Value } from './values/value.ts';

const join = (run: Run, parts: readonly string[]): string => {
  let length = parts.length;
  for (const part of parts) length += part.length;
  checkLength(run, length);
  chargeSteps(run, length >>> 6);
  return parts.join(' ');
};

/** Formats a value as Go's %v: `map[a:1 b:[x <nil>]]`, floats like 1e+06. */
export const goText = (run: Run, value: Value, depth = 0): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : formatFloat(value);
  if (typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value === undefined || value === null) return '<nil>';
  if (value instanceof WholeFloat) return formatFloat(value.value);
  if (value instanceof SizedInt || value instanceof Opaque) return value.toString();
  checkDepth(run, depth, 'a value is');
  if (isList(value)) {
    chargeSteps(run, value.length);
    return `[${join(
      run,
      value.map((item) => goText(run, item, depth + 1)),
    )}]`;
  }
  if (value instanceof GoContext)
    return `{${join(
      run,
      GO_FIELDS.map((name) => goText(run, value[name], depth + 1)),
    )}}`;
  const entries = sortedEntries(value);
  chargeSteps(run, entries.length);
  return `map[${join(
    run,
    entries.map(([key, item]) => `${goText(run, key, depth + 1)}:${goText(run, item, depth + 1)}`),
  )}]`;
};

/** The output of an action: %v, or `<no value>` for a missing value. */
export const printed = (run: Run, value: Value): string =>
  value === undefined || value === null ? '<no value>' : goText(run, value);

/** Go's fmt.Sprint: adds a space between two operands if neither is a string. */
export const sprint = (run: Run, values: readonly Value[]): string => {
  let out = '';
  values.forEach((value, index) => {
    if (index > 0 && typeof value !== 'string' && typeof values[index - 1] !== 'string') out += ' ';
    out += goText(run, value);
    checkLength(run, out.length);
  });
  return out;
};

/** Go's fmt.Sprintln. */
export const sprintln = (run: Run, values: readonly Value[]): string =>
  `${join(
    run,
    values.map((value) => goText(run, value)),
  )}\n`;
