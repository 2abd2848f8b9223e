import { RE2JS, RE2JSSyntaxException, RE2Set } from 're2js';
import { PatternError } from './pattern-error.ts';
import { patternSize } from './pattern-size.ts';

/** Start and end of the whole match, then of each group, as UTF-16 offsets; -1 for a group that did not take part. */
export type Match = readonly number[];

/** Charges steps to the caller's budget. May throw, which ends the search. */
export type Spend = (steps: number) => void;

/** A compiled regular expression in RE2 syntax, which is Go's. */
export type LinearPattern = {
  /** Instructions of its program. */
  readonly size: number;
  readonly groups: number;
  /** Index of each named group. */
  readonly names: Readonly<Record<string, number>>;
  /** The leftmost match from `from` on, with the groups that a backtracking matcher would find first. */
  readonly find: (text: string, from: number, spend: Spend) => Match | undefined;
  /** True if it matches anywhere. Cheaper than find, because no group is tracked. */
  readonly test: (text: string, spend: Spend) => boolean;
};

/** Longest text of an expression, in UTF-16 units. */
const MAX_PATTERN_LENGTH = 16 << 10;
/** Most instructions of a program. A program of that size compiles in about 50 ms. */
const MAX_PATTERN_SIZE = 20_000;

/**
 * Compiles a regular expression whose matching takes time linear in the text: RE2 (re2js) does not backtrack. Each character read costs
 * one step for each 32 instructions, so that a budget of steps bounds the time too.
 * @throws PatternError when it is not a regular expression of RE2, or exceeds a limit
 */
export const compileLinear = (pattern: string): LinearPattern => {
  if (pattern.length > MAX_PATTERN_LENGTH || patternSize(pattern) > MAX_PATTERN_SIZE)
    throw new PatternError(`is too large: its program would have more than ${MAX_PATTERN_SIZE} steps`, true);
  const compiled = compile(pattern);
  const re2 = compiled.re2();
  const size = compiled.programSize();
  const groups = compiled.groupCount();
  const weight = 1 + (size >> 5);
  const run = (text: string, from: number, slots: number, spend: Spend): Match | undefined => {
    const input = meteredInput(text, weight, spend);
    const found = re2.executeEngine(input, from, RE2Set.UNANCHORED, slots) as number[] | null;
    input.settle();
    return found ?? undefined;
  };
  return {
    size,
    groups,
    names: compiled.namedGroups(),
    find: (text, from, spend) => run(text, from, 2 * (groups + 1), spend),
    test: (text, spend) => run(text, 0, 2, spend) !== undefined,
  };
};

const compile = (pattern: string): RE2JS => {
  try {
    return RE2JS.compile(pattern);
  } catch (error) {
    if (error instanceof RE2JSSyntaxException) {
      const part = error.getPattern();
      throw new PatternError(`${error.getDescription()}${part === null ? '' : `: ${part.slice(0, 80)}`}`);
    }
    // Nested deeper than the parser's stack.
    if (error instanceof RangeError) throw new PatternError('nests too deep', true);
    throw error;
  }
};

const END = -8;
const MAX_UNIT = 0x10_ff_ff;

/** Steps collected before they are reported. */
const BATCH = 64;

/** The text as re2js reads it (its MachineInput of UTF-16), with every read counted. */
const meteredInput = (text: string, weight: number, spend: Spend) => {
  let due = 1;
  const count = (steps: number): void => {
    due += steps;
    if (due >= BATCH) settle();
  };
  const settle = (): void => {
    const steps = due;
    due = 0;
    spend(steps);
  };
  return {
    start: 0,
    end: text.length,
    endPos: () => text.length,
    // Disables re2js's search for a required prefix, which would read text without charging steps.
    canCheckPrefix: () => false,
    hasString: () => true,
    hasAnyString: () => true,
    prefixLength: ({ prefix }: { readonly prefix: string }) => prefix.length,
    /** The code point at a place and its width, as one number. */
    step: (at: number): number => {
      count(weight);
      if (at >= text.length) return END;
      const code = text.codePointAt(at) as number;
      return (code << 3) | (code > 0xffff && code <= MAX_UNIT ? 2 : 1);
    },
    index: ({ prefix }: { readonly prefix: string }, from: number): number => {
      const found = text.indexOf(prefix, from);
      count(1 + (((found < 0 ? text.length : found) - from) >> 6));
      return found < 0 ? -1 : found - from;
    },
    context: (at: number): number =>
      contextOf(
        at > 0 && at <= text.length ? text.charCodeAt(at - 1) : -1,
        at < text.length ? text.charCodeAt(at) : -1,
      ),
    settle,
  };
};

const isWord = (code: number): boolean =>
  (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);

/** The conditions between two characters, such as word boundaries, as RE2's flags. */
const contextOf = (before: number, after: number): number =>
  edgeFlags(before, 0b101, 0b001) |
  edgeFlags(after, 0b1010, 0b0010) |
  (isWord(before) === isWord(after) ? 0b10_0000 : 0b1_0000);

/** Flags of one side: `outside` at an end of the text, `newline` beside a line feed. */
const edgeFlags = (code: number, outside: number, newline: number): number => {
  if (code < 0) return outside;
  return code === 10 ? newline : 0;
};

/** All matches that do not overlap, at most `limit`; as in Go, an empty one right behind another match does not count. */
export const findAll = (pattern: LinearPattern, text: string, limit: number, spend: Spend): Match[] => {
  const matches: Match[] = [];
  let end = -1;
  for (let at = 0; at <= text.length && matches.length < limit; ) {
    const match = pattern.find(text, at, spend);
    if (!match) break;
    const [start, stop] = match as [number, number];
    if (stop > start || start !== end) matches.push(match);
    end = stop;
    at = stop > start ? stop : start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  }
  return matches;
};
