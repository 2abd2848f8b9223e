/** Does a code point belong to a class? */
export type CharacterTest = (code: number) => boolean;

const within =
  (pattern: RegExp): CharacterTest =>
  (code) =>
    pattern.test(String.fromCodePoint(code));

const isWord: CharacterTest = within(/[0-9A-Za-z_]/);

const PERL: Readonly<Record<string, CharacterTest>> = {
  d: within(/[0-9]/),
  w: isWord,
  s: within(/[\t\n\f\r ]/),
};

/** A class, and whether everything else is meant: `\\W` is w, negative. */
export type NamedClass = { readonly test: CharacterTest; readonly negative: boolean };

const POSIX: Readonly<Record<string, RegExp>> = {
  alnum: /[0-9A-Za-z]/,
  alpha: /[A-Za-z]/,
  // oxlint-disable-next-line no-control-regex
  ascii: /[\x00-\x7f]/,
  blank: /[\t ]/,
  // oxlint-disable-next-line no-control-regex
  cntrl: /[\x00-\x1f\x7f]/,
  digit: /[0-9]/,
  graph: /[!-~]/,
  lower: /[a-z]/,
  print: /[ -~]/,
  punct: /[!-/:-@[-`{-~]/,
  space: /[\t\n\v\f\r ]/,
  upper: /[A-Z]/,
  word: /[0-9A-Za-z_]/,
  xdigit: /[0-9A-Fa-f]/,
};

/** Is the code point one of RE2's word characters (ASCII only)? */
export const isWordCharacter = (code: number | undefined): boolean => code !== undefined && isWord(code);

/** The class behind a backslash: `d`, `W` ... */
export const escapeClass = (letter: string): NamedClass | undefined => {
  const name = letter.toLowerCase();
  const test = Object.hasOwn(PERL, name) ? PERL[name] : undefined;
  return test && { test, negative: name !== letter };
};

/** `[:alpha:]`, `[:^alpha:]` */
export const posixClass = (text: string): NamedClass | undefined => {
  const match = /^\[:(\^?)([a-z]+):\]$/.exec(text);
  const name = match?.[2] ?? '';
  const pattern = Object.hasOwn(POSIX, name) ? POSIX[name] : undefined;
  return pattern && { test: within(pattern), negative: match?.[1] === '^' };
};

/** A Unicode category or script: `L`, `Lu`, `Greek`, or `Any`. */
export const classNamed = (name: string): CharacterTest | undefined => {
  if (name === 'Any') return () => true;
  if (!/^[A-Za-z_]{1,40}$/.test(name)) return undefined;
  for (const property of [`gc=${name}`, `sc=${name}`])
    try {
      return within(new RegExp(`\\p{${property}}`, 'u'));
    } catch {
      // No such category or script: JavaScript knows the same names as Go.
    }
  return undefined;
};

/** One form for all cases of a letter, by simple case folding as far as JavaScript tells it. */
export const foldCase = (code: number): number => {
  if (code < 0x80) return code >= 0x41 && code <= 0x5a ? code + 32 : code;
  // The dotless i folds to itself, but for Turks.
  if (code === 0x131) return code;
  const letter = String.fromCodePoint(code);
  const upper = letter.toUpperCase();
  // 'ß' has no single upper case letter, so it stays itself.
  const lower = (isSingle(upper) ? upper : letter).toLowerCase();
  return isSingle(lower) ? (lower.codePointAt(0) ?? code) : code;
};

const isSingle = (text: string): boolean => text.length === ((text.codePointAt(0) ?? 0) > 0xffff ? 2 : 1);

/** Letters of other cases by their common form; made when the first expression ignores case. */
let orbits: ReadonlyMap<number, readonly number[]> | undefined;

const LAST_CASED = 0x1e943;

const makeOrbits = (): ReadonlyMap<number, readonly number[]> => {
  const cased = /\p{Changes_When_Casemapped}/u;
  const all = new Map<number, number[]>();
  for (let code = 0; code <= LAST_CASED; code += 1) {
    if (code === 0xd800) code = 0xe000;
    if (!cased.test(String.fromCodePoint(code))) continue;
    const folded = foldCase(code);
    const orbit = all.get(folded);
    if (orbit) orbit.push(code);
    else all.set(folded, [code]);
  }
  return all;
};

/** The same class without regard to case: RE2 takes every other case of its members in. */
export const foldClass = (test: CharacterTest): CharacterTest => {
  orbits ??= makeOrbits();
  const all = orbits;
  return (code) => test(code) || (all.get(foldCase(code))?.some(test) ?? false);
};
