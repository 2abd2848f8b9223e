import { checkLength, type Run } from '../../run.ts';
import { isPrintable, quoteRune } from '../quote.ts';
import { type Directive, pad } from './directive.ts';
import { signOf } from './sign-of.ts';

const BASES: Readonly<Record<string, number>> = { v: 10, d: 10, b: 2, o: 8, O: 8, x: 16, X: 16 };

const MAX_RUNE = 0x10ffffn;

const runeOf = (value: bigint): number => {
  const code = value >= 0n && value <= MAX_RUNE ? Number(value) : 0xfffd;
  return code >= 0xd800 && code <= 0xdfff ? 0xfffd : code;
};

const unicode = (run: Run, value: bigint, directive: Directive): string => {
  const code = BigInt.asUintN(64, value);
  checkLength(run, directive.precision ?? 0);
  const digits = code.toString(16).toUpperCase();
  const hex = `U+${digits.padStart(Math.max(4, directive.precision ?? 0), '0')}`;
  const character = code <= MAX_RUNE ? String.fromCodePoint(Number(code)) : '';
  const shown = directive.sharp && character !== '' && isPrintable(character) ? `${hex} '${character}'` : hex;
  return pad(run, shown, { ...directive, zero: false });
};

const prefixOf = (directive: Directive, base: number, digits: string): string => {
  if (directive.verb === 'O') return directive.sharp && !digits.startsWith('0') ? '0o0' : '0o';
  if (!directive.sharp) return '';
  if (base === 2) return '0b';
  if (base === 8) return digits.startsWith('0') ? '' : '0';
  return base === 16 ? `0${directive.verb === 'X' ? 'X' : 'x'}` : '';
};

/** Formats an integer; undefined when the verb is not valid for integers. */
export const formatInteger = (
  run: Run,
  value: bigint,
  isSigned: boolean,
  directive: Directive,
): string | undefined => {
  const { verb, precision, width = 0, plus, zero, minus } = directive;
  if (verb === 'c') return pad(run, String.fromCodePoint(runeOf(value)), directive);
  if (verb === 'q') return pad(run, quoteRune(runeOf(value), plus), directive);
  if (verb === 'U') return unicode(run, value, directive);
  if (verb === 'v' && directive.sharpV && !isSigned)
    return formatInteger(run, value, isSigned, { ...directive, verb: 'x', sharp: true, sharpV: false });
  const base = BASES[verb];
  if (base === undefined) return undefined;
  if (precision === 0 && value === 0n) return pad(run, '', { ...directive, zero: false });
  const magnitude = (value < 0n ? -value : value).toString(base);
  const sign = signOf(value < 0n, directive);
  // Leading zeros count as precision: the width includes the sign, but not a prefix.
  const wanted = precision ?? (zero && !minus ? width - sign.length : 0);
  checkLength(run, wanted);
  const digits = (verb === 'X' ? magnitude.toUpperCase() : magnitude).padStart(wanted, '0');
  return pad(run, sign + prefixOf(directive, base, digits) + digits, { ...directive, zero: false });
};
