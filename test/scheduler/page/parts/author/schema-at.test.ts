import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  describePlace,
  keysOf,
  placeInYaml,
  schemasAt,
  valuesOf,
} from '../../../../../scheduler/page/parts/author/schema-at.ts';

const SCHEMAS = join(import.meta.dirname, '../../../../../docs/schemas/author');
const schemaOf = (name: string) =>
  JSON.parse(readFileSync(join(SCHEMAS, `${name}.schema.json`), 'utf8')) as object;

/** Reads text with the cursor at '|'. */
const at = (text: string) => {
  const lines = text.split('\n');
  const line = lines.findIndex((one) => one.includes('|'));
  const column = lines[line]?.indexOf('|') ?? 0;
  return placeInYaml(
    lines.map((one) => one.replace('|', '')),
    line,
    column,
  );
};

describe('the place of a line', () => {
  test.each([
    ['an empty file', '|', [], []],
    ['half a key', 'kind: Config\nspec:\n  sel|', ['spec'], []],
    ['an empty line by its cursor', 'spec:\n  fixed: true\n  |\n  values: {}', ['spec'], ['fixed', 'values']],
    ['a list below its key', 'spec:\n  list:\n    - name: a\n      |', ['spec', 'list', '*'], ['name']],
    [
      'a list at the column of its key',
      'spec:\n  list:\n  - name: a\n    |',
      ['spec', 'list', '*'],
      ['name'],
    ],
    ['the next item', 'list:\n- name: a\n- |', ['list', '*'], []],
    ['lists in lists', 'list:\n- - a: 1\n    |', ['list', '*', '*'], ['a']],
    ['the key after a list', 'spec:\n  list:\n  - a: 1\n  |', ['spec'], ['list']],
    ['behind comments', 'spec:\n# no\n    # no: 1\n  a: 1\n  |', ['spec'], ['a']],
    ['quoted keys', '"a b":\n  |', ['a b'], []],
    ['the second document', 'kind: A\nspec:\n  a: 1\n---\nkind: B\nspec:\n  |\n---\nc: 1', ['spec'], []],
  ])('%s', (_, text, path, siblings) => {
    const found = at(text);
    expect(found.path).toEqual(path);
    expect(found.siblings).toEqual(siblings);
  });

  test('names the kind of its own document', () => {
    expect(at('kind: A\n---\nspec:\n  |\nkind: "B"\n---\nkind: C').kind).toBe('B');
    expect(at('spec:\n  kind: Inner\n  |').kind).toBeUndefined();
  });
});

test('keys of a Config: those that are missing, required ones first, without fields that nothing reads', () => {
  const root = schemaOf('config');
  expect(keysOf(schemasAt(root, []), ['apiVersion', 'kind'], 0).map(({ text }) => text)).toEqual([
    'metadata',
    'spec',
  ]);
  const spec = keysOf(schemasAt(root, ['spec']), [], 2);
  expect(spec.map(({ text }) => text)).toEqual(
    expect.arrayContaining(['selector', 'siteSelector', 'values']),
  );
  expect(spec.find(({ text }) => text === 'values')).toMatchObject({
    rest: ':\n    ',
    detail: expect.stringMatching(/^object/),
    info: expect.any(String),
  });
  expect(schemasAt(root, ['spec', 'nothing', 'there'])).toEqual([]);
});

test('values: words of an enum, booleans, defaults and examples, in quotes where YAML would read another type', () => {
  const root = {
    properties: {
      mode: { enum: ['on', 'fast'], default: 'fast' },
      count: { type: 'integer', examples: [7] },
      flag: { type: 'boolean' },
      text: { type: 'string', examples: ['7', 'a: b', 'plain'] },
      list: { type: 'array', items: { $ref: '#/$defs/item' } },
    },
    $defs: { item: { oneOf: [{ properties: { a: { const: 'x' } } }, { properties: { b: {} } }] } },
  } as const;
  const texts = (...path: string[]) => valuesOf(schemasAt(root as object, path)).map(({ text }) => text);
  expect(texts('mode')).toEqual(['"on"', 'fast']);
  expect(texts('count')).toEqual(['7']);
  expect(texts('flag')).toEqual(['true', 'false']);
  expect(texts('text')).toEqual(['"7"', '"a: b"', 'plain']);
  expect(texts('list', '*', 'a')).toEqual(['x']);
  expect(keysOf(schemasAt(root as object, ['list', '*']), ['a'], 4).map(({ text }) => text)).toEqual(['b']);
});

test('describes a field by its own schema', () => {
  const found = describePlace(schemasAt(schemaOf('fleet'), ['spec', 'environments', '*', 'promotedFrom']));
  expect(found.join(' ')).toMatch(/^string Environment whose promoted candidates.*Example: "dev"$/);
  expect(describePlace([])).toEqual([]);
});

test('a schema that refers to itself ends', () => {
  const root = { $defs: { a: { anyOf: [{ $ref: '#/$defs/a' }, { type: 'string' }] } }, $ref: '#/$defs/a' };
  expect(schemasAt(root as object, []).length).toBeGreaterThan(0);
});
