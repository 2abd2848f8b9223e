import { expect, test } from 'vitest';
import { formatError, type FleetError } from '#bundles/errors';
import { parseDocuments } from '../../../../scheduler/model/yaml/parse-documents.ts';

const told = (text: string): readonly string[] => {
  const problems: FleetError[] = [];
  parseDocuments('a.yaml', text, problems);
  return problems.map(formatError);
};

const TAB =
  'YAML_SYNTAX: this is not YAML: the line is indented with a tab. Indent with spaces: YAML takes no tabs there.';

test.each([
  ['mappings', 'spec:\n  template:\n\t  spec:\n\t\tcontainers:\n\t\t- name: a\n\t\t  image: b\n', '3:1'],
  ['a list', 'a:\n  b:\n\t- x\n\t- y\n', '3:1'],
  ['a line after spaces', 'a:\n  b: 1\n  \tc: 2\n', '3:3'],
  ['the item of a list', 'list:\n  -\ta: 1\n  -\ta: 2\n', '2:4'],
  ['a list in brackets', 'a: [1,\n\t2]\nb: 1\n', '2:1'],
  ['a block of text', 'a: |\n\tx\n\ty\nb: 1\n', '2:1'],
  ['several documents', 'a:\n\tb: 1\n---\nc:\n\td: 1\n', '2:1'],
])('a tab that indents %s is one error at its place', (_, text, place) => {
  expect(told(text)).toEqual([`a.yaml:${place}: ${TAB}`]);
});

test('a tab elsewhere is no error', () => {
  expect(told('a:\tb\nc: |\n  x\n  \ty\n"d\te": "f\\\n  \tg"\n')).toEqual([]);
});
