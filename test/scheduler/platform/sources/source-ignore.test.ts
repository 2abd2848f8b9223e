import { expect, test } from 'vitest';
import {
  DEFAULT_IGNORES,
  isIgnored,
  parseIgnore,
  takesBack,
} from '../../../../scheduler/platform/sources/source-ignore.ts';

const ignores = (text: string, path: string, folder = false): boolean =>
  isIgnored(parseIgnore(text, ''), path, folder);

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

test('a pattern that ends in a slash is for folders only', () => {
  expect(ignores('notes/', 'notes', true)).toBe(true);
  expect(ignores('notes/', 'notes', false)).toBe(false);
});

test('the last rule that speaks decides, and ! takes back', () => {
  expect(ignores('*.yaml\n!keep.yaml', 'keep.yaml')).toBe(false);
  expect(ignores('!keep.yaml\n*.yaml', 'keep.yaml')).toBe(true);
});

test('as for Flux, a rule for a folder speaks of all below, and a part may be taken back', () => {
  const rules = parseIgnore('/*\n!/deploy/prod/\n/deploy/prod/old', '');
  expect(isIgnored(rules, 'deploy/prod/a/b.yaml', false)).toBe(false);
  expect(isIgnored(rules, 'deploy/dev/a.yaml', false)).toBe(true);
  expect(isIgnored(rules, 'deploy/prod/old/c.yaml', false)).toBe(true);
  expect(isIgnored(parseIgnore('notes/', ''), 'deep/notes/a.yaml', false)).toBe(true);
  expect([takesBack(rules), takesBack(parseIgnore('notes/', ''))]).toEqual([true, false]);
});

test('a file of rules in a folder speaks of that folder', () => {
  const rules = parseIgnore('/a.yaml', 'sub');
  expect(isIgnored(rules, 'sub/a.yaml', false)).toBe(true);
  expect(isIgnored(rules, 'a.yaml', false)).toBe(false);
});

test('what belongs to the repository’s host is left out by default', () => {
  expect(isIgnored(DEFAULT_IGNORES, '.github', true)).toBe(true);
  expect(isIgnored(DEFAULT_IGNORES, 'deep/.sops.yaml', false)).toBe(true);
  expect(isIgnored(DEFAULT_IGNORES, '.environments', true)).toBe(false);
});
