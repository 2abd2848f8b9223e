import { checkLength, type Run } from '../run.ts';
import { type Directive, PLAIN } from './format/directive.ts';
import { formatValue, shownWithType } from './format/format-value.ts';
import { isInt, toNumber } from '../../model/go/number.ts';
import type { Value } from './values/value.ts';

/** Go's upper bound on width, precision and index. */
const MAX_NUMBER = 1_000_000;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** The position in a format and in its operands. */
type Reader = {
  readonly format: string;
  readonly values: readonly Value[];
  at: number;
  next: number;
  /** An explicit index was used, so surplus operands are not reported. */
  reordered: boolean;
  isGood: boolean;
  /** An index in brackets was read and not used yet. */
  afterIndex: boolean;
};

const take = (reader: Reader, pattern: RegExp): string | undefined => {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.format)?.[0];
  if (found !== undefined) reader.at += found.length;
  return found;
};

/** `[3]`: selects the next operand. */
const readIndex = (reader: Reader): void => {
  reader.afterIndex = false;
  if (reader.format[reader.at] !== '[') return;
  reader.reordered = true;
  const written = reader.format.length - reader.at < 3 ? undefined : take(reader, /\[[^\]]*\]/y);
  if (written === undefined) reader.at += 1;
  const number = /^\[\d+\]$/.test(written ?? '') ? Number(written?.slice(1, -1)) : 0;
  if (number >= 1 && number <= reader.values.length && number <= MAX_NUMBER) {
    reader.next = number - 1;
    reader.afterIndex = true;
  } else {
    reader.isGood = false;
    // As in Go: an index that is out of range still counts as one.
    reader.afterIndex = /^\[\d+\]$/.test(written ?? '') && number <= MAX_NUMBER;
  }
};

/** Reads an operand as width or precision (`*`); undefined if it is not a valid one. */
const readStar = (reader: Reader): number | undefined => {
  reader.at += 1;
  reader.afterIndex = false;
  if (reader.next >= reader.values.length) return undefined;
  const value = reader.values[reader.next];
  reader.next += 1;
  const number = isInt(value) ? toNumber(value) : NaN;
  return Math.abs(number) <= MAX_NUMBER ? number : undefined;
};

/** Reads digits; undefined without any. As in Go, a number that is too large consumes the rest of the format. */
const readNumber = (reader: Reader): number | undefined => {
  const digits = take(reader, /\d+/y);
  if (digits === undefined) return undefined;
  if (Number(digits) <= MAX_NUMBER) return Number(digits);
  reader.at = reader.format.length;
  return undefined;
};

const readFlags = (reader: Reader): Mutable<Directive> => {
  const flags = take(reader, /[-+# 0]*/y) ?? '';
  return {
    ...PLAIN,
    minus: flags.includes('-'),
    plus: flags.includes('+'),
    sharp: flags.includes('#'),
    space: flags.includes(' '),
    zero: flags.includes('0'),
  };
};

/** Reads the width; returns the error text for an invalid one. */
const readWidth = (reader: Reader, directive: Mutable<Directive>): string => {
  if (reader.format[reader.at] !== '*') {
    const { afterIndex } = reader;
    directive.width = readNumber(reader);
    // `%[3]2d` is invalid.
    if (afterIndex && directive.width !== undefined) reader.isGood = false;
    return '';
  }
  const width = readStar(reader);
  if (width === undefined) return '%!(BADWIDTH)';
  directive.width = Math.abs(width);
  if (width < 0) {
    directive.minus = true;
    directive.zero = false;
  }
  return '';
};

const readPrecision = (reader: Reader, directive: Mutable<Directive>): string => {
  if (reader.format[reader.at] !== '.') return '';
  reader.at += 1;
  if (reader.afterIndex) reader.isGood = false;
  readIndex(reader);
  if (reader.format[reader.at] !== '*') {
    directive.precision = readNumber(reader) ?? 0;
    return '';
  }
  const precision = readStar(reader);
  directive.precision = precision !== undefined && precision >= 0 ? precision : undefined;
  return directive.precision === undefined ? '%!(BADPREC)' : '';
};

/** Formats one directive; `at` is after its %. */
const writeDirective = (run: Run, reader: Reader): string => {
  reader.isGood = true;
  reader.afterIndex = false;
  const directive = readFlags(reader);
  readIndex(reader);
  let out = readWidth(reader, directive) + readPrecision(reader, directive);
  if (!reader.afterIndex) readIndex(reader);
  const verb = take(reader, /[^]/uy);
  if (verb === undefined) return `${out}%!(NOVERB)`;
  if (verb === '%') return `${out}%`;
  if (!reader.isGood) return `${out}%!${verb}(BADINDEX)`;
  if (reader.next >= reader.values.length) return `${out}%!${verb}(MISSING)`;
  directive.verb = verb;
  if (verb === 'v') {
    directive.sharpV = directive.sharp;
    directive.plusV = directive.plus;
    directive.sharp = false;
    directive.plus = false;
  }
  out += formatValue(run, reader.values[reader.next], directive);
  reader.next += 1;
  return out;
};

/** Go's fmt.Sprintf for template values. As in Go, mistakes are reported in the output: `%!d(string=x)`. */
export const sprintf = (run: Run, format: string, values: readonly Value[]): string => {
  const reader: Reader = {
    format,
    values,
    at: 0,
    next: 0,
    reordered: false,
    isGood: true,
    afterIndex: false,
  };
  let out = '';
  while (reader.at < format.length) {
    const percent = format.indexOf('%', reader.at);
    out += format.slice(reader.at, percent === -1 ? format.length : percent);
    if (percent === -1) break;
    reader.at = percent + 1;
    out += writeDirective(run, reader);
    checkLength(run, out.length);
  }
  if (!reader.reordered && reader.next < values.length) {
    const extra = values.slice(reader.next).map((value) => shownWithType(run, value));
    out += `%!(EXTRA ${extra.join(', ')})`;
  }
  return out;
};
