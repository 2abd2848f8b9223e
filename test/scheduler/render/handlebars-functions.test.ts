import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FORBIDDEN_NAMES } from '../../../scheduler/render/go/functions/forbidden.ts';
import { FUNCTION_NAMES, findFunction } from '../../../scheduler/render/go/functions/functions.ts';
import { errorOf, go, handlebars } from './template-fixture.ts';

const DATE = '(toDate "2006-01-02" "2026-11-21")';

/** Arguments that both notations write alike, for functions that are not content with just any of the right kind. */
const ARGUMENTS: Readonly<Record<string, string>> = {
  and: '1 "x"',
  or: '"" "x"',
  b32dec: '"NBSWY3DP"',
  b64dec: '"aGVsbG8="',
  date: '"2006-01-02" 86400',
  dateInZone: '"15:04 -07:00" 0 "Asia/Tokyo"',
  date_in_zone: '"2006" 0 "UTC"',
  dateModify: `"24h" ${DATE}`,
  date_modify: `"24h" ${DATE}`,
  mustDateModify: `"24h" ${DATE}`,
  must_date_modify: `"24h" ${DATE}`,
  toDate: '"2006-01-02" "2026-11-21"',
  mustToDate: '"2006-01-02" "2026-11-21"',
  unixEpoch: DATE,
  htmlDate: '0',
  htmlDateInZone: '0 "Europe/Berlin"',
  dig: '"a" "none" (dict "a" 1)',
  index: '(list "a" "b") 1',
  slice: '"abcdef" 1 3',
  mustSlice: '(list 1 2 3) 1',
  has: '"a" (list "a")',
  mustHas: '"a" (list "a")',
  fromJson: '"[1]"',
  mustFromJson: '"[1]"',
  fromYaml: '"a: 1"',
  semver: '"1.2.3"',
  semverCompare: '"^1.2" "1.2.3"',
  substr: '0 2 "abc"',
  untilStep: '0 6 2',
  urlJoin: '(dict "scheme" "https" "host" "h")',
};

const OF_KIND = {
  any: '"5"',
  string: '"abc"',
  int: '2',
  float: '1',
  bool: 'true',
  list: '(list "b" "a")',
  map: '(dict "a" 1)',
} as const;

const argumentsOf = (name: string): string => {
  const fn = findFunction(name);
  const kinds = [...(fn?.parameters ?? []), ...(fn?.rest === undefined ? [] : [fn.rest])];
  const own = Object.hasOwn(ARGUMENTS, name) ? ARGUMENTS[name] : undefined;
  return own ?? kinds.map((kind) => OF_KIND[kind]).join(' ');
};

it('docs/templates.md lists every function, including refused ones', () => {
  const docs = readFileSync(new URL('../../../docs/templates.md', import.meta.url), 'utf8');
  const named = new Set([...docs.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  // Twins with `must` in front, old spellings and `osBase` and its like are named as a group.
  const grouped = /^must|_|^trimall$|^os[A-Z]/;
  const missing = [...FUNCTION_NAMES, ...FORBIDDEN_NAMES].filter(
    (name) => !named.has(name) && !grouped.test(name),
  );
  expect(missing).toEqual([]);
});

describe('functions as Handlebars helpers', () => {
  it.each(FUNCTION_NAMES.filter((name) => name !== 'fail'))(
    '%s returns the same as in a Go template',
    (name) => {
      const call = `${name} ${argumentsOf(name)}`;
      const text = `{{ toJson (${call}) }}`;
      expect(handlebars(text)).toBe(go(text));
    },
  );

  it('read the same values, and fail with the same message', () => {
    expect(handlebars('{{toYaml configData.nested}}')).toBe(go('{{ toYaml .ConfigData.nested }}'));
    expect(handlebars('{{join "," configData.list}}')).toBe(go('{{ join "," .ConfigData.list }}'));
    expect(errorOf(() => handlebars('{{fail "no"}}')).message).toBe(
      errorOf(() => go('{{ fail "no" }}')).message,
    );
  });

  it('fails on a missing value, unlike Go templates, and names the position', () => {
    expect(go('{{ .ConfigData.nope }}')).toBe('<no value>');
    const error = errorOf(() => handlebars('a\n  {{upper configData.nope}}'));
    expect([error.code, error.at]).toEqual([
      'TEMPLATE_FAILED',
      { file: 'templates/default.yaml', line: 10, column: 17 },
    ]);
    expect(handlebars('{{default "x" configData.nope}}')).toBe('x');
  });

  it.each(FORBIDDEN_NAMES)('%s is refused in both engines, with a reason', (name) => {
    const reason = /^\w+ is not allowed: (?:templates|a secret)/;
    expect(errorOf(() => go(`{{ ${name} "x" }}`)).message).toMatch(reason);
    expect(errorOf(() => handlebars(`{{${name} "x"}}`)).message).toMatch(reason);
  });
});
