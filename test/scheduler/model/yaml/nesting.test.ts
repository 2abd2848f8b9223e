import { expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import { nestsTooDeep } from '../../../../scheduler/model/yaml/nesting.ts';
import { parseDocuments } from '../../../../scheduler/model/yaml/parse-documents.ts';

const told = (text: string): readonly string[] => {
  const problems: Parameters<typeof formatError>[0][] = [];
  parseDocuments('f.yaml', Buffer.from(text), problems);
  return problems.map(formatError);
};

test('nestsTooDeep finds deep nesting without parsing, ignoring brackets in text', () => {
  expect(nestsTooDeep('['.repeat(1001))).toBe(true);
  expect(nestsTooDeep('["]", {a: '.repeat(1000))).toBe(true);
  expect(nestsTooDeep(`${'- '.repeat(200)}x`)).toBe(true);
  // Brackets in text and side by side are no nesting.
  expect(nestsTooDeep('a: "[[["\nb: [1]\n'.repeat(2000))).toBe(false);
  expect(nestsTooDeep(`a: |\n  ${'['.repeat(3000)}\n`)).toBe(false);
});

test('YAML nested too deep is one problem', () => {
  expect(told('['.repeat(50_000))).toEqual([
    'f.yaml: YAML_SYNTAX: this YAML nests too deep to be read: more than 200 levels',
  ]);
});

test("blocks may nest as deep as brackets, within the parser's stack", () => {
  const blocks = (levels: number): string =>
    Array.from({ length: levels }, (_, at) => `${' '.repeat(at)}a:`).join('\n');
  expect(told(blocks(200))).toEqual([]);
  expect(told(blocks(201))).toEqual([
    'f.yaml: YAML_SYNTAX: this YAML nests too deep to be read: more than 200 levels',
  ]);
});

test('each repeated key is reported at its repetition, also in inner mappings', () => {
  expect(told('a: 1\nb: {c: 1, c: 2}\na: 3\n')).toEqual([
    'f.yaml:2:11: YAML_SYNTAX: the key c is there twice in one mapping. Remove one of the two.',
    'f.yaml:3:1: YAML_SYNTAX: the key a is there twice in one mapping. Remove one of the two.',
  ]);
});
