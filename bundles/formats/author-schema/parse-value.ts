import { FleetError } from '../../errors.ts';
import type { Json } from '../../json/canonical.ts';
import { parseJson } from '../../json/parse-json.ts';

const NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,127}$/;

/**
 * Parses 'port=8080'. Whole numbers, true, false, null, and JSON in [], {} or "" become JSON values; everything else is text, which
 * numberIn makes a number where the site input takes one ('ratio=0.5').
 * @throws FleetError USAGE for JSON with a number that no double has
 */
export const parseValue = (pair: string): readonly [string, Json] => {
  const [name, ...rest] = pair.split('=');
  if (name === undefined || rest.length === 0 || !NAME.test(name)) {
    throw new FleetError('USAGE', `${JSON.stringify(pair.slice(0, 80))} is not <name>=<value>`, {
      hint: 'Names begin with a letter and have letters, digits, dots, - and _',
    });
  }
  const text = rest.join('=');
  const value = /^(?:-?\d+|true|false|null|".*"|\[.*\]|\{.*\})$/s.test(text) ? jsonIn(text) : undefined;
  if (value === undefined) return [name, text];
  if (!hasRounded(text)) return [name, value];
  // More digits than a number can represent, such as a serial number: kept as text.
  if (typeof value === 'number') return [name, text];
  throw new FleetError('USAGE', `the value of ${name} has a number with more digits than documents keep`, {
    hint: `Whole numbers are within ±(2^53-1); write it as text, in quotes`,
  });
};

/** JSON.parse with the text of each number (ES2025), not yet in the compiler's library types. */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source: string }) => unknown,
) => unknown;

/** Whether JSON has a whole number that a double does not hold exactly, or one that is infinite. */
const hasRounded = (text: string): boolean => {
  let rounded = false;
  parseWithSource(text, (_key, value, { source }) => {
    if (typeof value === 'number')
      rounded ||= !Number.isFinite(value) || (/^-?\d+$/.test(source) && !Number.isSafeInteger(value));
    return value;
  });
  return rounded;
};

/** undefined for text that only looks like JSON: 007, "a" and "b", {site}/{line}. */
const jsonIn = (text: string): Json | undefined => {
  try {
    return parseJson(text) as Json;
  } catch {
    return undefined;
  }
};

/** The double that a text is in JSON. Whole numbers that a double would round are not given here. */
export const numberIn = (value: Json): number | undefined => {
  if (typeof value !== 'string' || !/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(value))
    return undefined;
  const number = Number(value);
  return Number.isInteger(number) && !Number.isSafeInteger(number) ? undefined : number;
};
