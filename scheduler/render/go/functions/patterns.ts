import { compileLinear, findAll, type LinearPattern, type Match } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { checkLength, fail, type Run, chargeSteps } from '../../run.ts';
import { stringList } from '../values/value.ts';
import { type FunctionTable, fixed, withMustVariants } from './template-function.ts';

/** sprig's regular expression functions, in Go's (RE2's) syntax. */

/** Patterns are nearly always literals in the template, so a small cache serves all renders. */
const CACHE_SIZE = 256;
const cache = new Map<string, LinearPattern | PatternError>();

const compile = (pattern: string): LinearPattern | PatternError => {
  const known = cache.get(pattern) ?? orError(() => compileLinear(pattern));
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(pattern, known);
  return known;
};

const orError = (work: () => LinearPattern): LinearPattern | PatternError => {
  try {
    return work();
  } catch (error) {
    if (error instanceof PatternError) return error;
    throw error;
  }
};

const compiled = (run: Run, pattern: string): LinearPattern => {
  const found = compile(pattern);
  if (found instanceof PatternError)
    return fail(
      run,
      `the regular expression ${JSON.stringify(pattern.slice(0, 80))} cannot be used: it ${found.message}`,
    );
  chargeSteps(run, found.size >> 3);
  return found;
};

/** Whether the pattern is valid. One that is too large is valid, and fails when it is used. */
const isRegexp = (pattern: string): boolean => {
  const found = compile(pattern);
  return !(found instanceof PatternError) || found.beyond;
};

const matches = (run: Run, pattern: string, text: string): boolean =>
  compiled(run, pattern).test(text, meter(run));

const meter = (run: Run) => (steps: number) => chargeSteps(run, steps);

const all = (run: Run, pattern: string, text: string, limit = Infinity): readonly Match[] =>
  findAll(compiled(run, pattern), text, limit < 0 ? Infinity : limit, meter(run));

const whole = (text: string, [start = 0, end = 0]: Match): string => text.slice(start, end);

/** A regular expression that matches only this text. */
const quoteMeta = (text: string): string => text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');

/**
 * Expands `$1`, `${1}`, `$name` and `$$` in a replacement as Go's Expand does: the longest name is used, so `$1x` is not
 * `$1`.
 */
const expand = (template: string, { names }: LinearPattern, text: string, match: Match): string =>
  template.replace(/\$(?:\$|(\w+)|\{(\w+)\})/g, (written: string, bare?: string, braced?: string) => {
    if (written === '$$') return '$';
    const name = bare ?? braced ?? '';
    const named = Object.hasOwn(names, name) ? (names[name] as number) : -1;
    const index = /^\d+$/.test(name) ? Number(name) : named;
    const start = match[index * 2] ?? -1;
    return start < 0 ? '' : text.slice(start, match[index * 2 + 1]);
  });

const replace = (run: Run, pattern: string, text: string, by: (match: Match) => string): string => {
  let out = '';
  let last = 0;
  for (const match of all(run, pattern, text)) {
    const [start = 0, end = 0] = match;
    out += text.slice(last, start) + by(match);
    last = end;
    checkLength(run, out.length);
  }
  return out + text.slice(last);
};

const split = (run: Run, pattern: string, text: string, limit: number): string[] => {
  compiled(run, pattern);
  if (limit === 0) return [];
  if (pattern !== '' && text === '') return [''];
  const parts: string[] = [];
  let start = 0;
  let end = 0;
  for (const match of all(run, pattern, text, limit)) {
    if (limit > 0 && parts.length === limit - 1) break;
    end = match[0] ?? 0;
    if (match[1] !== 0) parts.push(text.slice(start, end));
    start = match[1] ?? 0;
  }
  if (end !== text.length) parts.push(text.slice(start));
  return parts;
};

/** Go returns nil without a match. */
const listed = (items: string[]): string[] => stringList(items, items.length === 0);

const ALL: FunctionTable = {
  regexMatch: fixed(['string', 'string'], matches),
  regexFind: fixed(['string', 'string'], (run, pattern, text) => {
    const match = compiled(run, pattern).find(text, 0, meter(run));
    return match ? whole(text, match) : '';
  }),
  regexFindAll: fixed(['string', 'string', 'int'], (run, pattern, text, limit) =>
    listed(all(run, pattern, text, limit).map((match) => whole(text, match))),
  ),
  regexReplaceAll: fixed(['string', 'string', 'string'], (run, pattern, text, by) =>
    replace(run, pattern, text, (match) => expand(by, compiled(run, pattern), text, match)),
  ),
  regexReplaceAllLiteral: fixed(['string', 'string', 'string'], (run, pattern, text, by) =>
    replace(run, pattern, text, () => by),
  ),
  regexSplit: fixed(['string', 'string', 'int'], (run, pattern, text, limit) =>
    stringList(split(run, pattern, text, limit), limit === 0),
  ),
};

export const PATTERNS: FunctionTable = {
  ...ALL,
  ...withMustVariants(ALL),
  // Without the prefix must, sprig treats an invalid pattern as one without a match.
  regexMatch: fixed(
    ['string', 'string'],
    (run, pattern, text) => isRegexp(pattern) && matches(run, pattern, text),
  ),
  regexQuoteMeta: fixed(['string'], (_run, text) => quoteMeta(text)),
};
