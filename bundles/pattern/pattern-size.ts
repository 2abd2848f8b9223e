/** What a class of Unicode's counts for: it has hundreds of ranges, and every repetition copies them. */
const UNICODE_CLASS = 20;

/** One open group: what it holds so far, and the part that a repetition behind it would multiply. */
type Group = { total: number; last: number };

/**
 * An upper estimate of the instructions that RE2 makes of an expression, from its text alone: it is read before the expression is
 * compiled, because `(a{1000}b{1000}){1}` and the like take memory while they are.
 */
export const patternSize = (pattern: string): number => {
  const open: Group[] = [];
  let group: Group = { total: 0, last: 0 };
  const atom = (size: number): void => {
    group.total += size;
    group.last = size;
  };
  let at = 0;
  while (at < pattern.length) {
    const char = pattern[at] as string;
    const repeated = char === '{' ? /^\{(\d{1,9})(,?)(\d{0,9})\}/.exec(pattern.slice(at, at + 24)) : null;
    if (repeated) {
      const least = Number(repeated[1]);
      const most = Math.max(least, repeated[3] === '' ? least + 1 : Number(repeated[3]));
      group.total += group.last * most + most;
      group.last *= most;
      at += repeated[0].length;
    } else if (char === '[') {
      const end = classEnd(pattern, at);
      atom(/\\[pP]/.test(pattern.slice(at, end)) ? UNICODE_CLASS : 1);
      at = end;
    } else if (char === '(') {
      open.push(group);
      group = { total: 2, last: 0 };
      at += 1;
    } else if (char === ')') {
      const { total } = group;
      group = open.pop() ?? { total: 0, last: 0 };
      atom(total);
      at += 1;
    } else if (char === '\\') {
      atom(/^\\[pP]/.test(pattern.slice(at, at + 2)) ? UNICODE_CLASS : 1);
      at += escapeLength(pattern, at);
    } else {
      if ('*+?|'.includes(char)) group.total += 1;
      else atom(1);
      at += 1;
    }
  }
  return open.reduce((sum, { total }) => sum + total, group.total) + 2;
};

/** Length of the escape at this place: `\d`, `\x41`, `\x{1F600}`, `\p{Greek}`. */
export const escapeLength = (pattern: string, at: number): number =>
  /^\\(?:[pPxu]\{[^}]{0,60}\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|c[A-Za-z]|[^])/u.exec(
    pattern.slice(at, at + 64),
  )?.[0].length ?? 1;

/** Index behind the class that opens at this place; a `]` right behind the bracket belongs to it, as RE2 reads it. */
const classEnd = (pattern: string, from: number): number => {
  let at = from + 1;
  if (pattern[at] === '^') at += 1;
  if (pattern[at] === ']') at += 1;
  while (at < pattern.length && pattern[at] !== ']') {
    const named = /^\[:\^?[a-z]{1,10}:\]/.exec(pattern.slice(at, at + 16));
    at += named ? named[0].length : pattern[at] === '\\' ? escapeLength(pattern, at) : 1;
  }
  return at + 1;
};
