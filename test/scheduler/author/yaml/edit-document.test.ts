import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { appendDocument, editObjects } from '../../../../scheduler/author/yaml/edit-document.ts';
import { listResource } from '../../../../scheduler/author/yaml/list-resource.ts';
import { setValue } from '../../../../scheduler/author/yaml/set-value.ts';
import { type ObjectValue, writeObject } from '../../../../scheduler/model/yaml/write-object.ts';

const FILE = `# The team of line A.
apiVersion: v1
kind: A
metadata: {name: x}
spec:
     # five columns, as an author wrote it
     a: "1"   # trailing
     list:
     - name: p
       v: 1
     - name: q # the second
       v: 2

     long: "one\\ntwo"  
---
# the other
kind: B
metadata:
    name: y
    labels: { a: b }
`;

const edit = (text: string, kind: string, name: string, path: readonly string[], value: unknown): string =>
  editObjects(text, [
    { which: { kind, name }, change: (document) => setValue(document, path, value), at: { file: 'f.yaml' } },
  ]);

/** Lines that are no longer there, and lines that are new. */
const changed = (before: string, after: string): readonly string[] => {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line}`),
  ];
};

test('a changed value changes its line alone, in a file with its own indentation, spaces and quotes', () => {
  expect(changed(FILE, edit(FILE, 'A', 'x', ['spec', 'a'], '2'))).toEqual([
    '-     a: "1"   # trailing',
    '+     a: "2" # trailing',
  ]);
  expect(changed(FILE, edit(FILE, 'B', 'y', ['metadata', 'labels', 'c'], '007'))).toEqual([
    '-    labels: { a: b }',
    '+    labels: { a: b, c: "007" }',
  ]);
});

test('a new key goes behind the others, with their indentation', () => {
  expect(changed(FILE, edit(FILE, 'A', 'x', ['spec', 'more'], { on: 'on', deep: [1] }))).toEqual([
    '+     more:',
    '+         "on": "on"',
    '+         deep:',
    '+             - 1',
  ]);
});

test('entries of a list are known by their name, and keep their comments', () => {
  const list = [
    { name: 'q', v: 3 },
    { name: 'r', v: 4 },
  ];
  const after = edit(FILE, 'A', 'x', ['spec', 'list'], list);
  expect(after).toContain('     - name: q # the second\n       v: 3\n');
  expect(after).not.toContain('name: p');
  expect(parseAllDocuments(after)[0]?.toJS()).toMatchObject({ spec: { list } });
});

test('a value that is there already changes nothing, and undefined removes a key', () => {
  expect(edit(FILE, 'A', 'x', ['spec', 'a'], '1')).toBe(FILE);
  expect(changed(FILE, edit(FILE, 'A', 'x', ['spec', 'a'], undefined))).toEqual([
    '-     a: "1"   # trailing',
  ]);
});

test('anchors, aliases and merges that the change is not about stay', () => {
  const text = 'kind: A\nmetadata: {name: x}\nbase: &base {a: 1}\nspec:\n  <<: *base\n  b: *base\n  c: 2\n';
  expect(changed(text, edit(text, 'A', 'x', ['spec', 'c'], 3))).toEqual(['-  c: 2', '+  c: 3']);
  expect(edit(text, 'A', 'x', ['spec', 'b'], { a: 2 })).toContain('<<: *base\n  b:\n    a: 2\n');
});

test('an item of a List is refused with its place', () => {
  const list = 'kind: List\nitems: [{kind: A, metadata: {name: x}}]\n';
  expect(() => edit(list, 'A', 'x', ['spec'], 1)).toThrow(
    expect.objectContaining({ code: 'FIELD_INVALID', at: { file: 'f.yaml' } }),
  );
});

test('a new object says the same in YAML 1.1 and 1.2', () => {
  const value: ObjectValue = {
    a: 'yes',
    b: '1.0',
    c: 'x\ny\n',
    d: '2026-01-01',
    e: 'hello',
    f: '0o14',
    g: '12:30:45',
    h: '-',
    hex: '0X1F',
    i: true,
    j: 7,
    n: ['null', '~', ''],
    on: 'k: v',
  };
  const text = writeObject(value);
  for (const version of ['1.1', '1.2'] as const)
    expect(parseAllDocuments(text, { version })[0]?.toJS()).toEqual(value);
  // A number to Go alone.
  expect(text).toContain('hex: "0X1F"');
  expect(text).toContain('c: |\n  x\n  y\n');
  expect(writeObject(value)).toBe(text);
});

test('a document is added behind the others', () => {
  expect(appendDocument('a: 1\n', 'b: 2\n')).toBe('a: 1\n---\nb: 2\n');
  expect(appendDocument('a: 1\n---\n', 'b: 2\n')).toBe('a: 1\n---\nb: 2\n');
  expect(appendDocument('', 'b: 2\n')).toBe('b: 2\n');
});

test('a kustomization lists one more file', () => {
  expect(
    listResource('# what Flux delivers\nresources:\n- a.yaml   # first\nnamePrefix: x-\n', 'b.yaml'),
  ).toBe('# what Flux delivers\nresources:\n- a.yaml   # first\n- b.yaml\nnamePrefix: x-\n');
  expect(listResource('namePrefix: x-\n', 'b.yaml')).toBe('namePrefix: x-\nresources:\n  - b.yaml\n');
  for (const text of ['', '# none yet\n'])
    expect(listResource(text, 'b.yaml')).toBe(`${text}resources:\n  - b.yaml\n`);
  // Kustomize reads the first document alone. What a person wrote behind it stays.
  expect(
    listResource(
      '---\nresources:\n  - a.yaml\n---\n# of before\nresources:\n  - old.yaml   # gone\n',
      'b.yaml',
    ),
  ).toBe('---\nresources:\n  - a.yaml\n  - b.yaml\n---\n# of before\nresources:\n  - old.yaml   # gone\n');
});
