import { checkLength, fail, type Run } from '../../run.ts';
import { formatFloat as shortestText } from '../../../model/go/number.ts';
import { type Directive, pad } from './directive.ts';
import { signOf } from './sign-of.ts';

/**
 * Rounds a tie to the even digit as Go does; JavaScript rounds it up. `write` formats the number with that many places; a
 * tie has a 5 and zeros after the last place.
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
  const [mantissa = '', power = ''] = exponentForm(value, significant - 1).split('e');
  const exponent = Number(power);
  const trim = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
  const digits = mantissa.replace('.', '').replace(/0+$/, '').length;
  // strconv: digits that exist anyway do not cause the exponent form.
  const limit = significant > digits && digits >= exponent + 1 ? digits : significant;
  if (exponent < -4 || (exponent >= limit && value !== 0)) return `${trim(mantissa)}e${power}`;
  return trim(fixed(value, Math.min(Math.max(significant - 1 - exponent, 0), 100)));
};

/** toFixed is limited to 100 places and to values below 1e21. A double has at most 1074 places, so the rest is padded. */
const fixed = (value: number, precision: number): string => {
  const text =
    value < 1e21 ? roundEven(Math.min(precision, 100), (at) => value.toFixed(at)) : BigInt(value).toString();
  const places = text.includes('.') ? text.length - text.indexOf('.') - 1 : 0;
  if (precision <= places) return text;
  return `${text}${places === 0 ? '.' : ''}${'0'.repeat(precision - places)}`;
};

/** The flag #, as in `%#g`: always a point, and zeros up to the precision. */
const withAlternateForm = (text: string, { verb, precision = 6 }: Directive): string => {
  const [mantissa = '', power] = text.split(/(?=e)/i);
  const significant = mantissa.replace('.', '').replace(/^0+/, '').length;
  const counted = significant + (mantissa === '0' ? 1 : 0);
  const missing = /[vgG]/.test(verb) ? Math.max(0, precision - counted) : 0;
  const point = mantissa.includes('.') ? '' : '.';
  return mantissa + point + '0'.repeat(missing) + (power ?? '');
};

const digitsOf = (value: number, { verb, precision }: Directive): string => {
  switch (verb) {
    case 'f':
    case 'F':
      return fixed(value, precision ?? 6);
    case 'e':
    case 'E':
      return exponentForm(value, precision ?? 6);
    default:
      return precision === undefined ? shortestText(value) : general(value, precision);
  }
};

/** Formats a float; undefined when the verb is not valid for floats. */
export const formatFloat = (run: Run, value: number, directive: Directive): string | undefined => {
  const { verb, zero, minus, width = 0 } = directive;
  if (/^[bxX]$/.test(verb)) return fail(run, `printf cannot write a float64 with %${verb}`);
  if (!/^[eEfFgGv]$/.test(verb)) return undefined;
  checkLength(run, Math.max(directive.precision ?? 0, width));
  const negative = value < 0 || Object.is(value, -0);
  const sign = signOf(negative, directive);
  if (Number.isNaN(value)) return pad(run, `${sign}NaN`, { ...directive, zero: false });
  if (!Number.isFinite(value)) return pad(run, `${sign || '+'}Inf`, { ...directive, zero: false });
  const plain = digitsOf(Math.abs(value), directive);
  const cased = verb === 'E' || verb === 'G' ? plain.toUpperCase() : plain;
  const text = directive.sharp ? withAlternateForm(cased, directive) : cased;
  if (zero && !minus) return sign + text.padStart(width - sign.length, '0');
  return pad(run, sign + text, directive);
};
