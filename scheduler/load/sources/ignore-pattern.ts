import { compileLinear, type LinearPattern, type Spend } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';

/** Whether a glob of gitignore(5) matches a path, or a folder above it. `folder`: the path is a folder. */
export type PathTest = (path: string, folder: boolean, spend: Spend) => boolean;

/**
 * Compiles one pattern of a `.sourceignore`, without a leading `!`. A name without wildcards is compared; globs run as RE2,
 * in time linear in the path.
 * @throws PatternError for an invalid class, such as `[z-a]`
 */
export const compileGlob = (written: string): PathTest => {
  const onlyFolders = written.endsWith('/');
  const pattern = written.replace(/\/$/, '');
  // A slash before the end anchors the pattern to its folder; otherwise it matches at any depth.
  const tied = pattern.includes('/');
  const glob = pattern.replace(/^\//, '');
  const name = tied ? glob.replace(/^(?:\*\*\/)+/, '') : glob;
  const anywhere = name !== glob || !tied;
  if (!/[*?[\\]/.test(name) && (!anywhere || !name.includes('/')))
    return plainTest(name, anywhere, onlyFolders);
  const source = `(?s)^${tied ? '' : '(?:.*/)?'}${toExpression(glob)}`;
  const below = compileLinear(`${source}(?:/.*)?$`);
  const inside: LinearPattern = onlyFolders ? compileLinear(`${source}/.*$`) : below;
  return (path, folder, spend) => (folder ? below : inside).test(path, spend);
};

/** A name without wildcards, at the start of the path or after any slash. */
const plainTest =
  (name: string, anywhere: boolean, onlyFolders: boolean): PathTest =>
  (path, folder) => {
    const above = `${name}/`;
    if (path.startsWith(above) || (anywhere && path.includes(`/${above}`))) return true;
    return (folder || !onlyFolders) && (path === name || (anywhere && path.endsWith(`/${name}`)));
  };

const toExpression = (glob: string): string => {
  let text = '';
  for (let at = 0; at < glob.length; at++) {
    const char = String.fromCodePoint(glob.codePointAt(at) as number);
    if (glob.startsWith('**/', at) && (at === 0 || glob[at - 1] === '/')) {
      text += '(?:.*/)?';
      at += 2;
    } else if (glob.startsWith('/**', at) && at + 3 === glob.length) {
      text += '/.*';
      at += 2;
    } else if (char === '*') {
      text += '[^/]*';
      // Several stars match the same as one, and cost more.
      while (glob[at + 1] === '*') at += 1;
    } else if (char === '?') text += '[^/]';
    else if (char === '[' && glob.indexOf(']', at + 2) !== -1) {
      const { expression, end } = toClass(glob, at);
      text += expression;
      at = end;
    } else if (char === '\\' && at + 1 < glob.length) {
      const next = String.fromCodePoint(glob.codePointAt(at + 1) as number);
      text += escape(next);
      at += next.length;
    } else {
      text += escape(char);
      at += char.length - 1;
    }
  }
  return text;
};

const SLASH = 0x2f;

/** Writes a class for RE2, by code points, so that no character in it is special. It never contains a slash. */
const toClass = (glob: string, from: number): { readonly expression: string; readonly end: number } => {
  const end = classEnd(glob, from);
  const members = [...glob.slice(from + 1, end).matchAll(/\\?([^])/gu)].map(([text, char = '']) => ({
    code: char.codePointAt(0) as number,
    isDash: text === '-',
  }));
  const negated = /^[!^]/.test(glob.slice(from + 1)) && members.length > 1;
  const rest = negated ? members.slice(1) : members;
  const ranges: (readonly [number, number])[] = [];
  for (let at = 0; at < rest.length; at++) {
    const [first, dash, last] = [rest[at], rest[at + 1], rest[at + 2]];
    if (!first) break;
    if (dash?.isDash !== true || !last) {
      ranges.push([first.code, first.code]);
      continue;
    }
    if (last.code < first.code)
      throw new PatternError(
        `has the range ${String.fromCodePoint(first.code)}-${String.fromCodePoint(last.code)}, which is backwards`,
      );
    ranges.push([first.code, last.code]);
    at += 2;
  }
  const all = negated ? [...ranges, [SLASH, SLASH] as const] : ranges.flatMap(withoutSlash);
  // [/] is empty without the slash.
  if (all.length === 0) return { expression: '[^\\x{0}-\\x{10ffff}]', end };
  return {
    expression: `[${negated ? '^' : ''}${all.map(([low, high]) => `${hex(low)}-${hex(high)}`).join('')}]`,
    end,
  };
};

/** Index of the bracket that closes a class; a bracket in first position is a member. */
const classEnd = (glob: string, from: number): number => {
  let at = from + (/^[!^]/.test(glob.slice(from + 1)) ? 3 : 2);
  while (at < glob.length && glob[at] !== ']') at += glob[at] === '\\' ? 2 : 1;
  return at < glob.length ? at : glob.indexOf(']', from + 2);
};

const withoutSlash = ([low, high]: readonly [number, number]): readonly (readonly [number, number])[] =>
  low <= SLASH && SLASH <= high
    ? [[low, SLASH - 1] as const, [SLASH + 1, high] as const].filter(([first, last]) => first <= last)
    : [[low, high]];

const hex = (code: number): string => `\\x{${code.toString(16)}}`;

const escape = (char: string): string => char.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
