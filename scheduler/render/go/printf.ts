import { checkLength, type Run, spend } from '../run.ts';
import { GoContext } from './go-context.ts';
import { formatFloat, isFloat, isInt, toNumber, WholeFloat } from './number.ts';
import { goText } from './print.ts';
import { isPrintable, quote, quoteRune } from './quote.ts';
import { isStringMap } from './string-map.ts';
import { codePoints } from './utf8.ts';
import { isList, kindOf, sortedEntries, type Value } from './value.ts';

type Flags = {
  readonly minus: boolean;
  readonly plus: boolean;
  readonly sharp: boolean;
  readonly space: boolean;
  readonly zero: boolean;
};

type Directive = {
  readonly flags: Flags;
  readonly width: number | undefined;
  readonly precision: number | undefined;
  readonly verb: string;
};

const GO_TYPES: Readonly<Record<ReturnType<typeof kindOf>, string>> = {
  invalid: '<nil>',
  bool: 'bool',
  string: 'string',
  int: 'int',
  float64: 'float64',
  slice: '[]interface {}',
  map: 'map[string]interface {}',
  struct: 'struct',
};

/** Go's name of a value's type, as %T prints it. */
export const typeName = (run: Run, value: Value): string =>
  isStringMap(run, value) ? 'map[string]string' : GO_TYPES[kindOf(value)];

const pad = (run: Run, text: string, { flags, width = 0 }: Directive, zeros = false): string => {
  if (width === 0) return text;
  checkLength(run, width);
  const missing = Math.max(0, width - codePoints(text).length);
  if (flags.minus) return text + ' '.repeat(missing);
  if (!zeros) return ' '.repeat(missing) + text;
  const sign = /^[-+ ]/.exec(text)?.[0] ?? '';
  return sign + '0'.repeat(missing) + text.slice(sign.length);
};

const signed = (text: string, negative: boolean, flags: Flags): string =>
  negative ? `-${text}` : flags.plus ? `+${text}` : flags.space ? ` ${text}` : text;

const PREFIXES: Readonly<Record<string, string>> = { b: '0b', o: '0', x: '0x', X: '0X' };
const BASES: Readonly<Record<string, number>> = { b: 2, o: 8, O: 8, d: 10, x: 16, X: 16 };

const integer = (run: Run, value: bigint, directive: Directive): string | undefined => {
  const { flags, precision, verb } = directive;
  if (verb === 'c' || verb === 'q' || verb === 'U') return character(run, Number(value), directive);
  const base = BASES[verb];
  if (base === undefined) return undefined;
  const magnitude = value < 0n ? -value : value;
  checkLength(run, precision ?? 0);
  let digits = precision === 0 && value === 0n ? '' : magnitude.toString(base).padStart(precision ?? 0, '0');
  if (verb === 'X') digits = digits.toUpperCase();
  const zeros = flags.zero && !flags.minus && precision === undefined;
  const prefix = verb === 'O' ? '0o' : flags.sharp ? (PREFIXES[verb] ?? '') : '';
  if (zeros) {
    // Go counts the sign into the width, and the base prefix not.
    const sign = value < 0n || flags.plus || flags.space ? 1 : 0;
    checkLength(run, directive.width ?? 0);
    digits = digits.padStart((directive.width ?? 0) - sign, '0');
  }
  return pad(run, signed(prefix + digits, value < 0n, flags), directive);
};

const character = (run: Run, code: number, directive: Directive): string => {
  const valid = code >= 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
  const text = valid ? String.fromCodePoint(code) : '\ufffd';
  switch (directive.verb) {
    case 'c':
      return pad(run, text, directive);
    case 'q':
      return pad(run, quoteRune(code), directive);
    default: {
      const hex = `U+${(code < 0 ? BigInt.asUintN(64, BigInt(code)) : code).toString(16).toUpperCase().padStart(4, '0')}`;
      return pad(run, directive.flags.sharp && isPrintable(text) ? `${hex} '${text}'` : hex, directive);
    }
  }
};

/**
 * JavaScript rounds a tie up, Go to the even digit. `write` gives the number with so many places; a tie shows as a 5 and
 * zeros behind the last place.
 */
const roundEven = (places: number, write: (places: number) => string): string => {
  const up = write(places);
  const exact = write(Math.min(100, places + 26));
  const [, whole = '', point = '', fraction = '', power = ''] = /^(\d+)(\.?)(\d*)(.*)$/.exec(exact) ?? [];
  const isTie = /^50*$/.test(fraction.slice(places));
  const lastDigit = /(\d)(?:e.*)?$/.exec(up)?.[1] ?? '0';
  if (!isTie || Number(lastDigit) % 2 === 0) return up;
  return whole + (places > 0 ? point + fraction.slice(0, places) : '') + power;
};

const exponentForm = (value: number, precision: number | undefined): string => {
  const text =
    precision === undefined
      ? value.toExponential()
      : roundEven(Math.min(precision, 100), (places) => value.toExponential(places));
  return text.replace(/e([-+])(\d)$/, 'e$10$2');
};

/** %g with a precision: significant digits, trailing zeros dropped. */
const general = (value: number, precision: number): string => {
  const significant = Math.min(Math.max(precision, 1), 100);
  const exponent = Number(value.toExponential(significant - 1).split('e')[1]);
  const trim = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  const shortestDigits = value.toExponential().split('e')[0]?.replace('.', '').length ?? 1;
  // strconv: digits that are there anyway do not make the exponent form necessary.
  const limit = precision > shortestDigits && shortestDigits >= exponent + 1 ? shortestDigits : significant;
  if (exponent < -4 || exponent >= Math.max(limit, 1)) {
    const [mantissa = '', power = ''] = exponentForm(value, significant - 1).split('e');
    return `${trim(mantissa)}e${power}`;
  }
  return trim(fixed(value, Math.min(Math.max(significant - 1 - exponent, 0), 100)));
};

const floating = (run: Run, value: number, directive: Directive): string | undefined => {
  const { flags, precision, verb } = directive;
  if (!/^[eEfFgGv]$/.test(verb)) return undefined;
  checkLength(run, precision ?? 0);
  if (!Number.isFinite(value)) {
    const text = Number.isNaN(value) ? 'NaN' : 'Inf';
    const sign =
      value < 0 ? '-' : flags.plus ? '+' : flags.space ? ' ' : value > 0 && verb !== 'f' ? '+' : '';
    return pad(
      run,
      (Number.isNaN(value) && sign === '+' && !flags.plus ? '' : sign || (value > 0 ? '+' : '')) + text,
      directive,
    );
  }
  const magnitude = Math.abs(value);
  let text: string;
  switch (verb) {
    case 'f':
    case 'F':
      text = fixed(magnitude, precision ?? 6);
      break;
    case 'e':
    case 'E':
      text = exponentForm(magnitude, precision ?? 6);
      break;
    default:
      text = precision === undefined ? formatFloat(magnitude) : general(magnitude, precision);
  }
  if (verb === 'E' || verb === 'G') text = text.toUpperCase();
  const negative = value < 0 || Object.is(value, -0);
  return pad(run, signed(text, negative, flags), directive, flags.zero && !flags.minus);
};

/** toFixed has no more than 100 places and gives up at 1e21; a double has at most 1074 places, so pad the rest. */
const fixed = (value: number, precision: number): string => {
  const text =
    value < 1e21 ? roundEven(Math.min(precision, 100), (at) => value.toFixed(at)) : BigInt(value).toString();
  const places = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0;
  if (precision <= places) return text;
  return `${text}${places === 0 ? '.' : ''}${'0'.repeat(precision - places)}`;
};

const hex = (text: string, { flags, precision, verb }: Directive): string => {
  const bytes = Buffer.from(text).subarray(0, precision);
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0'));
  const prefix = flags.sharp && bytes.length > 0 ? '0x' : '';
  const out = flags.space ? digits.map((pair) => prefix + pair).join(' ') : prefix + digits.join('');
  return verb === 'X' ? out.toUpperCase() : out;
};

// oxlint-disable-next-line no-control-regex
const NO_RAW = /[`\x00-\x08\x0a-\x1f\x7f]/;

const textual = (run: Run, value: string, directive: Directive): string | undefined => {
  const { flags, precision, verb } = directive;
  const cut = precision === undefined ? value : codePoints(value).slice(0, precision).join('');
  const zeros = flags.zero && !flags.minus;
  switch (verb) {
    case 'v':
      if (flags.sharp) return pad(run, quote(cut), directive, zeros);
      return pad(run, cut, directive, zeros);
    case 's':
      return pad(run, cut, directive, zeros);
    case 'q':
      return pad(
        run,
        flags.sharp && !NO_RAW.test(cut) ? `\`${cut}\`` : quote(cut, flags.plus),
        directive,
        zeros,
      );
    case 'x':
    case 'X':
      return pad(run, hex(value, directive), directive, zeros);
    default:
      return undefined;
  }
};

const wrong = (run: Run, value: Value, verb: string): string =>
  value === undefined || value === null
    ? `%!${verb}(<nil>)`
    : `%!${verb}(${typeName(run, value)}=${goText(run, value)})`;

const formatScalar = (run: Run, value: Value, directive: Directive): string | undefined => {
  if (value === undefined || value === null)
    return directive.verb === 'v' ? pad(run, '<nil>', directive) : undefined;
  if (typeof value === 'boolean')
    return directive.verb === 't' || directive.verb === 'v' ? pad(run, String(value), directive) : undefined;
  if (typeof value === 'string') return textual(run, value, directive);
  if (isInt(value))
    return integer(run, BigInt(value), directive.verb === 'v' ? { ...directive, verb: 'd' } : directive);
  if (isFloat(value)) return floating(run, toNumber(value), directive);
  return undefined;
};

/** One operand. A verb applies to the elements of a list or map, as in Go. */
const formatValue = (run: Run, value: Value, directive: Directive): string => {
  spend(run, 1 + (typeof value === 'string' ? value.length >>> 4 : 0));
  if (directive.verb === 'T') return pad(run, typeName(run, value), directive);
  if (value === null || typeof value !== 'object' || value instanceof WholeFloat)
    return formatScalar(run, value, directive) ?? wrong(run, value, directive.verb);
  if (isList(value)) return `[${value.map((item) => formatValue(run, item, directive)).join(' ')}]`;
  if (value instanceof GoContext) return goText(run, value);
  return `map[${sortedEntries(value)
    .map(([key, item]) => `${formatValue(run, key, directive)}:${formatValue(run, item, directive)}`)
    .join(' ')}]`;
};

const DIRECTIVE = /%([-+# 0]*)(\*|\d+)?(?:\.(\*|\d*))?([\s\S]?)/uy;
const MAX_WIDTH = 1_000_000;

/** Go's fmt.Sprintf for the values templates have. Mistakes show in the text, as in Go: `%!d(string=x)`. */
export const sprintf = (run: Run, format: string, values: readonly Value[]): string => {
  let out = '';
  let next = 0;
  const number = (text: string | undefined): number | undefined => {
    if (text !== '*') return text === undefined ? undefined : Number(text);
    const value = values[next];
    next += 1;
    return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined;
  };
  let at = 0;
  while (at < format.length) {
    const percent = format.indexOf('%', at);
    if (percent === -1) break;
    out += format.slice(at, percent);
    DIRECTIVE.lastIndex = percent;
    const match = DIRECTIVE.exec(format);
    const [all = '%', flagText = '', widthText, precisionText, verb = ''] = match ?? [];
    at = percent + all.length;
    const width = number(widthText);
    const precision = precisionText === '' ? 0 : number(precisionText);
    if (verb === '') {
      out += '%!(NOVERB)';
    } else if (verb === '%') {
      out += '%';
    } else if (next >= values.length) {
      out += `%!${verb}(MISSING)`;
    } else if (Math.abs(width ?? 0) > MAX_WIDTH || (precision ?? 0) > MAX_WIDTH) {
      out += '%!(BADWIDTH)';
      next += 1;
    } else {
      const minus = flagText.includes('-') || (width ?? 0) < 0;
      const flags = {
        minus,
        plus: flagText.includes('+'),
        sharp: flagText.includes('#'),
        space: flagText.includes(' '),
        zero: flagText.includes('0') && !minus,
      };
      const absolute = width === undefined ? undefined : Math.abs(width);
      out += formatValue(run, values[next], { flags, width: absolute, precision, verb });
      next += 1;
    }
    checkLength(run, out.length);
  }
  out += format.slice(at);
  if (next < values.length) {
    const extra = values
      .slice(next)
      .map((value) =>
        value === undefined || value === null ? '<nil>' : `${typeName(run, value)}=${goText(run, value)}`,
      );
    out += `%!(EXTRA ${extra.join(', ')})`;
  }
  return out;
};
