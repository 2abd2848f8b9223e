import { codePoints } from '../utf8.ts';
import {
  type CharacterTest,
  classNamed,
  escapeClass,
  foldCase,
  foldClass,
  type NamedClass,
  posixClass,
} from './classes.ts';

/**
 * Go's regular expressions (RE2 syntax), parsed into a tree. They are run by our own automaton, in time linear in the
 * text: JavaScript's RegExp backtracks, and a value from a workload could then stop the scheduler.
 */
export type Expression =
  | { readonly kind: 'empty' }
  | { readonly kind: 'character'; readonly test: CharacterTest }
  | { readonly kind: 'assert'; readonly what: Assertion }
  | { readonly kind: 'sequence' | 'choice'; readonly of: readonly Expression[] }
  | { readonly kind: 'group'; readonly index: number; readonly of: Expression }
  | {
      readonly kind: 'repeat';
      readonly of: Expression;
      readonly min: number;
      readonly max: number;
      readonly greedy: boolean;
    };

export type Assertion = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'word' | 'notWord';

export type Pattern = {
  readonly expression: Expression;
  /** Names of the groups; index 0 is the whole match. */
  readonly groups: readonly (string | undefined)[];
};

/** What is wrong with a regular expression. */
export class RegexpError extends Error {}

type Flags = {
  readonly fold: boolean;
  readonly multi: boolean;
  readonly dotAll: boolean;
  readonly swap: boolean;
};

const MAX_REPEAT = 1000;
const MAX_DEPTH = 200;
const EMPTY: Expression = { kind: 'empty' };
/** Stands where only flags were set: a repetition behind them is one of what stands before. */
const FLAGS: Expression = { kind: 'empty' };

const SIMPLE: Readonly<Record<string, string>> = { a: '\x07', f: '\f', t: '\t', n: '\n', r: '\r', v: '\v' };

/** Regular expression text that matches this text only. */
export const quoteMeta = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');

/** What repeats what stands before it. */
const REPETITION = /^(?:[*+?]|\{\d+(?:,\d*)?\})/;

/** @throws RegexpError */
export const parsePattern = (source: string): Pattern => {
  const text = codePoints(source);
  const groups: (string | undefined)[] = [undefined];
  let at = 0;
  let depth = 0;
  let flags: Flags = { fold: false, multi: false, dotAll: false, swap: false };

  const bad = (message: string): never => {
    throw new RegexpError(`${message} in the regular expression ${JSON.stringify(source)}`);
  };
  const startsWith = (part: string): boolean => text.slice(at, at + part.length).join('') === part;
  const accept = (part: string): boolean => {
    const found = startsWith(part);
    if (found) at += part.length;
    return found;
  };
  const until = (end: string): string => {
    const from = at;
    while (at < text.length && text[at] !== end) at += 1;
    if (at >= text.length) bad(`${end} is missing`);
    at += 1;
    return text.slice(from, at - 1).join('');
  };

  const literal = (character: string): Expression => {
    if (!flags.fold) return { kind: 'character', test: (code) => code === character.codePointAt(0) };
    const folded = foldCase(character.codePointAt(0) ?? 0);
    return { kind: 'character', test: (code) => foldCase(code) === folded };
  };

  /** `\x41`, `\x{1F600}`, `\101`, `\n`, `\.`: the character an escape stands for; `at` is behind the backslash. */
  const escapedCharacter = (): string => {
    const letter = text[at] ?? bad('a backslash ends it');
    at += 1;
    const simple = SIMPLE[letter];
    if (simple !== undefined) return simple;
    if (letter === 'x') {
      const hex = accept('{') ? until('}') : text.slice(at, (at += 2)).join('');
      const code = Number.parseInt(hex, 16);
      if (!/^[0-9a-fA-F]{1,6}$/.test(hex) || code > 0x10ffff) bad(`\\x${hex} is no character`);
      return String.fromCodePoint(code);
    }
    if (/[0-7]/.test(letter)) {
      let octal = letter;
      while (octal.length < 3 && /[0-7]/.test(text[at] ?? '')) octal += text[at++];
      if (letter !== '0' && octal.length === 1) bad(`\\${letter} refers back, which is not supported`);
      return String.fromCodePoint(Number.parseInt(octal, 8));
    }
    if (/[^\0-\x7f]|[0-9A-Za-z]/u.test(letter)) bad(`\\${letter} has no meaning`);
    return letter;
  };

  const inFlags = ({ test, negative }: NamedClass): CharacterTest => {
    const folded = flags.fold ? foldClass(test) : test;
    return negative ? (code) => !folded(code) : folded;
  };

  /** `\d`, `\PL`, `\p{Greek}`; undefined when what is behind the backslash is no class. */
  const escapedClass = (): CharacterTest | undefined => {
    const letter = text[at] ?? '';
    const perl = escapeClass(letter);
    if (perl) {
      at += 1;
      return inFlags(perl);
    }
    if (letter !== 'p' && letter !== 'P') return undefined;
    at += 1;
    const written = accept('{') ? until('}') : (text[at++] ?? '');
    const negative = written.startsWith('^');
    const name = negative ? written.slice(1) : written;
    const test = classNamed(name) ?? bad(`there is no class \\p{${name}}`);
    return inFlags({ test, negative: negative !== (letter === 'P') });
  };

  const classMember = (): CharacterTest | string => {
    if (startsWith('[:')) {
      const end = text.findIndex((one, index) => index >= at + 2 && one === ':' && text[index + 1] === ']');
      if (end !== -1) {
        const name = text.slice(at, end + 2).join('');
        at = end + 2;
        return inFlags(posixClass(name) ?? bad(`there is no class ${name}`));
      }
    }
    if (!accept('\\')) return text[at++] ?? bad('] is missing');
    return escapedClass() ?? escapedCharacter();
  };

  const characterClass = (): Expression => {
    const negative = accept('^');
    const tests: CharacterTest[] = [];
    for (let first = true; first || text[at] !== ']'; first = false) {
      if (at >= text.length) bad('] is missing');
      const low = classMember();
      if (typeof low !== 'string') {
        tests.push(low);
        continue;
      }
      let high: CharacterTest | string = low;
      if (text[at] === '-' && text[at + 1] !== ']' && at + 1 < text.length) {
        at += 1;
        high = classMember();
      }
      if (typeof high !== 'string') return bad('a range ends in a class');
      const [from, to] = [low.codePointAt(0) ?? 0, high.codePointAt(0) ?? 0];
      if (from > to) bad(`the range ${low}-${high} is upside down`);
      tests.push(inFlags({ test: (code) => code >= from && code <= to, negative: false }));
    }
    at += 1;
    const test = (code: number): boolean => tests.some((member) => member(code));
    return { kind: 'character', test: negative ? (code) => !test(code) : test };
  };

  /** Behind `(?`: flags for the rest of the group, or a group with flags. */
  const flagGroup = (): Expression => {
    let value = true;
    const next = { ...flags };
    const names = { i: 'fold', m: 'multi', s: 'dotAll', U: 'swap' } as const;
    for (;;) {
      const letter = text[at++] ?? bad(') is missing');
      if (letter === '-' && value) value = false;
      else if (letter === ':' || letter === ')') {
        if (letter === ')') {
          flags = next;
          return FLAGS;
        }
        return inGroup(next);
      } else {
        const name = names[letter as keyof typeof names] ?? bad(`(?${letter} has no meaning`);
        next[name] = value;
      }
    }
  };

  const inGroup = (inner: Flags): Expression => {
    depth += 1;
    if (depth > MAX_DEPTH) bad('groups nest too deep');
    const outer = flags;
    flags = inner;
    const expression = choice();
    if (!accept(')')) bad(') is missing');
    flags = outer;
    depth -= 1;
    return expression;
  };

  const group = (): Expression => {
    if (accept('?P<') || accept('?<')) {
      const name = until('>');
      if (!/^\w+$/.test(name)) bad(`the group name ${JSON.stringify(name)} cannot be used`);
      return captured(name);
    }
    return accept('?') ? flagGroup() : captured(undefined);
  };

  const captured = (name: string | undefined): Expression => {
    const index = groups.length;
    groups.push(name);
    return { kind: 'group', index, of: inGroup(flags) };
  };

  const escaped = (): Expression => {
    const letter = text[at] ?? '';
    const assertion = ({ A: 'textStart', z: 'textEnd', b: 'word', B: 'notWord' } as const)[letter];
    if (assertion) {
      at += 1;
      return { kind: 'assert', what: assertion };
    }
    const test = escapedClass();
    return test ? { kind: 'character', test } : literal(escapedCharacter());
  };

  const atom = (): Expression => {
    const character = text[at++] ?? '';
    switch (character) {
      case '(':
        return group();
      case '[':
        return characterClass();
      case '.': {
        const { dotAll } = flags;
        return { kind: 'character', test: (code) => dotAll || code !== 10 };
      }
      case '^':
        return { kind: 'assert', what: flags.multi ? 'lineStart' : 'textStart' };
      case '$':
        return { kind: 'assert', what: flags.multi ? 'lineEnd' : 'textEnd' };
      case '\\':
        return escaped();
      case '{':
        if (REPETITION.test(text.slice(at - 1, at + 16).join(''))) bad('nothing stands before a repetition');
        return literal(character);
      case '*':
      case '+':
      case '?':
        return bad(`nothing stands before ${character}`);
      default:
        return literal(character);
    }
  };

  const counts = (): readonly [number, number] | undefined => {
    if (accept('*')) return [0, Infinity];
    if (accept('+')) return [1, Infinity];
    if (accept('?')) return [0, 1];
    const match = /^\{(\d+)(?:(,)(\d*))?\}/.exec(text.slice(at, at + 16).join(''));
    if (!match) return undefined;
    at += match[0].length;
    const min = Number(match[1]);
    const max = match[2] === undefined ? min : match[3] === '' ? Infinity : Number(match[3]);
    if (min > MAX_REPEAT || (max !== Infinity && max > MAX_REPEAT) || max < min)
      bad(`${match[0]} repeats too often`);
    return [min, max];
  };

  const repeated = (first: Expression): Expression => {
    let expression = first;
    for (let times = 0; ; times += 1) {
      const before = at;
      const range = counts();
      if (!range) return expression;
      if (times > 0) return bad(`${text.slice(before, at).join('')} follows another repetition`);
      const lazy = accept('?');
      expression = {
        kind: 'repeat',
        of: expression,
        min: range[0],
        max: range[1],
        greedy: lazy === flags.swap,
      };
    }
  };

  /** The text up to `\E`: all but its last character go into the sequence, so that a repetition behind it counts for that one. */
  const quoted = (into: Expression[]): Expression => {
    let last: Expression = FLAGS;
    while (at < text.length && !accept('\\E')) {
      if (last !== FLAGS) into.push(last);
      last = literal(text[at++] ?? '');
    }
    return last;
  };

  const sequence = (): Expression => {
    const of: Expression[] = [];
    while (at < text.length && text[at] !== '|' && text[at] !== ')') {
      const one = accept('\\Q') ? quoted(of) : atom();
      const before = of.at(-1);
      if (one !== FLAGS) of.push(repeated(one));
      else if (before) of.splice(-1, 1, repeated(before));
      else if (REPETITION.test(text.slice(at, at + 16).join(''))) bad('nothing stands before a repetition');
    }
    return of.length === 1 ? (of[0] ?? EMPTY) : { kind: 'sequence', of };
  };

  const choice = (): Expression => {
    const of = [sequence()];
    while (accept('|')) of.push(sequence());
    return of.length === 1 ? (of[0] ?? EMPTY) : { kind: 'choice', of };
  };

  const expression = choice();
  if (at < text.length) bad('a ) was never opened');
  return { expression, groups };
};
