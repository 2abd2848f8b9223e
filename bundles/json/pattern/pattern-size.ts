/** Instructions counted for a Unicode class: it has hundreds of ranges, and every repetition copies them. */
const UNICODE_CLASS = 20;

/** An open group: its size so far, and the size of its last atom, which a following repetition multiplies. */
type Group = { total: number; last: number };

/**
 * Estimates from above how many instructions RE2 compiles an expression to. It reads only the text, because compiling an expression
 * such as `(a{1000}b{1000}){1}` already takes the memory.
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

/** Index after the class that opens at `from`. A `]` directly after the bracket is a member, as in RE2. */
const classEnd = (pattern: string, from: number): number => {
  let at = from + 1;
  if (pattern[at] === '^') at += 1;
  if (pattern[at] === ']') at += 1;
  while (at < pattern.length && pattern[at] !== ']') {
    const named = /^\[:\^?[a-z]{1,10}:\]/.exec(pattern.slice(at, at + 16));
    const length = pattern[at] === '\\' ? escapeLength(pattern, at) : 1;
    at += named ? named[0].length : length;
  }
  return at + 1;
};
