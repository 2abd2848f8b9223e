import { expect, test } from 'vitest';
import { formatError } from '#bundles/errors';
import { refusalOf } from '../../../bundles/refusal.ts';
import {
  DEFAULT_IGNORES,
  isIgnored,
  parseIgnore,
  mayReinclude,
} from '../../../../scheduler/load/sources/source-ignore.ts';

const free = (): void => undefined;

const ignores = (text: string, path: string, folder = false): boolean =>
  isIgnored(parseIgnore(text, '', 'x'), path, folder, free);

test.for([
  ['notes.yaml', 'deep/notes.yaml', true],
  ['/notes.yaml', 'deep/notes.yaml', false],
  ['/notes.yaml', 'notes.yaml', true],
  ['deep/*.yaml', 'deep/a.yaml', true],
  ['deep/*.yaml', 'very/deep/a.yaml', false],
  ['*.yaml', 'a/b/c.yaml', true],
  ['a?c.yaml', 'abc.yaml', true],
  ['a?c.yaml', 'a/c.yaml', false],
  ['[a-c].yaml', 'b.yaml', true],
  ['[!a-c].yaml', 'b.yaml', false],
  ['**/foo/x.yaml', 'a/b/foo/x.yaml', true],
  ['**/foo/x.yaml', 'foo/x.yaml', true],
  ['a/**/z.yaml', 'a/z.yaml', true],
  ['a/**/z.yaml', 'a/b/c/z.yaml', true],
  ['a/**', 'a/b', true],
  ['a/**', 'a', false],
  ['\\#odd.yaml', '#odd.yaml', true],
  ['# comment', 'comment', false],
  ['name.with+(odd)$chars', 'name.with+(odd)$chars', true],
  ['a.yaml', 'abyaml', false],
] as const)('the pattern %s on %s is %s', ([pattern, path, expected]) => {
  expect(ignores(pattern, path)).toBe(expected);
});

test('a pattern with a trailing slash matches folders only', () => {
  expect(ignores('notes/', 'notes', true)).toBe(true);
  expect(ignores('notes/', 'notes', false)).toBe(false);
});

test('the last matching rule decides, and ! includes again', () => {
  expect(ignores('*.yaml\n!keep.yaml', 'keep.yaml')).toBe(false);
  expect(ignores('!keep.yaml\n*.yaml', 'keep.yaml')).toBe(true);
});

test.for([
  ['[]a].yaml', '].yaml', true],
  ['[a\\]].yaml', '].yaml', true],
  ['[^b].yaml', '😀.yaml', true],
  ['a[+-9]b', 'a/b', false],
  ['a[!x]b', 'a/b', false],
  ['a***b', 'axyzb', true],
  ['[', '[', true],
  ['a\\*b', 'a*b', true],
  ['a\\*b', 'axb', false],
] as const)('the class or escape of %s on %s is %s', ([pattern, path, expected]) => {
  expect(ignores(pattern, path)).toBe(expected);
});

test('N1: slow glob, wildcards take time linear in the path -> ACCEPT', () => {
  const rules = parseIgnore(`${'*a'.repeat(30)}b\n**/${'*a'.repeat(100)}[!x]z\n`, '', 'x');
  let steps = 0;
  const ignored = isIgnored(rules, `${'a'.repeat(250)}/${'a'.repeat(250)}c`, false, (count) => {
    steps += count;
  });
  expect(ignored ? 'left out' : 'ACCEPT').toBe('ACCEPT');
  expect(steps).toBeLessThan(1_000_000);
});

test('N2: bad glob, a backwards range is named with its line -> FIELD_INVALID', () => {
  const told = refusalOf(() =>
    parseIgnore('# docs\nok\n!drafts/[z-a]*.yaml\n', '', 'apps/shop/.sourceignore'),
  );
  expect(told.code).toBe('FIELD_INVALID');
  expect(formatError(told)).toBe(
    'apps/shop/.sourceignore:3: FIELD_INVALID: the pattern "!drafts/[z-a]*.yaml" has the range z-a, which is backwards. Correct the pattern, as in gitignore(5).',
  );
});

test('N3: many globs -> TOO_MANY', () => {
  expect(refusalOf(() => parseIgnore('a*b\n'.repeat(1001), '', 'x')).code).toBe('TOO_MANY');
  expect(refusalOf(() => parseIgnore('a'.repeat(1025), '', 'x'))).toMatchObject({
    code: 'TOO_LARGE',
    at: { file: 'x', line: 1 },
  });
});

test('a rule for a folder covers everything below, and a part can be included again, as in Flux', () => {
  const rules = parseIgnore('/*\n!/deploy/prod/\n/deploy/prod/old', '', 'x');
  expect(isIgnored(rules, 'deploy/prod/a/b.yaml', false, free)).toBe(false);
  expect(isIgnored(rules, 'deploy/dev/a.yaml', false, free)).toBe(true);
  expect(isIgnored(rules, 'deploy/prod/old/c.yaml', false, free)).toBe(true);
  expect(isIgnored(parseIgnore('notes/', '', 'x'), 'deep/notes/a.yaml', false, free)).toBe(true);
  expect([mayReinclude(rules), mayReinclude(parseIgnore('notes/', '', 'x'))]).toEqual([true, false]);
});

test('the rules in a folder apply to that folder', () => {
  const rules = parseIgnore('/a.yaml', 'sub', 'x');
  expect(isIgnored(rules, 'sub/a.yaml', false, free)).toBe(true);
  expect(isIgnored(rules, 'a.yaml', false, free)).toBe(false);
});

test('files of the Git host are ignored by default', () => {
  expect(isIgnored(DEFAULT_IGNORES, '.github', true, free)).toBe(true);
  expect(isIgnored(DEFAULT_IGNORES, 'deep/.sops.yaml', false, free)).toBe(true);
  expect(isIgnored(DEFAULT_IGNORES, '.environments', true, free)).toBe(false);
});
