import { expect, test } from 'vitest';
import { writeExactJson } from '../../../../bundles/json/exact-json.ts';
import { parseManifests } from '../../../../bundles/formats/bundle/parse-manifests.ts';

const read = (literal: string): string => {
  const yaml = `kind: Meter\nspec:\n  v: ${literal}\n`;
  const [document] = parseManifests(new Map([['app.yaml', Buffer.from(yaml)]]));
  return writeExactJson((document?.value['spec'] as { v: unknown } | undefined)?.v);
};

// What an API server of Kubernetes 1.35 stores for each, which test/integration/kubernetes/kubernetes-compare.test.ts asks it.
test.each([
  ['9007199254740993', '9007199254740993'],
  ['-9223372036854775808', '-9223372036854775808'],
  ['0x7FFFFFFFFFFFFFFF', '9223372036854775807'],
  ['0644', '420'],
  ['0o644', '420'],
  ['08', '8'],
  ['1_000', '1000'],
  ['-_1', '-1'],
  ['1e3', '1000'],
  ['.5', '0.5'],
  ['5.', '5'],
  ['18446744073709551616', '18446744073709552000'],
])('parseManifests reads the number %s as %s', (literal, stored) => {
  expect(read(literal)).toBe(stored);
});

test.each([
  'e5',
  'E10',
  '.',
  '+.',
  '_1',
  '1e999',
  '0xFFFFFFFFFFFFFFFFFF',
  '190:20:30',
  '1.2.3',
  '2026-11-28',
])('parseManifests reads %s as text, as Go does', (literal) => {
  expect(read(literal)).toBe(JSON.stringify(literal));
});

test.each([
  '9223372036854775809',
  '-9223372036854775809',
  '18446744073709551615',
  '12345678901234567890123',
  '.inf',
  '.nan',
])(
  'parseManifests refuses %s with its place, because the API server would store another number or none',
  (literal) => {
    expect(() => read(literal)).toThrow(
      expect.objectContaining({ code: 'OBJECT_INVALID', at: { file: 'app.yaml', line: 3, column: 6 } }),
    );
    expect(read(`"${literal}"`)).toBe(`"${literal}"`);
  },
);

test('parseManifests keeps all digits of a key that is a long number', () => {
  const files = new Map([['app.yaml', Buffer.from('kind: X\ndata: {9007199254740993: a}\n')]]);
  expect(parseManifests(files)[0]?.value['data']).toEqual({ '9007199254740993': 'a' });
});

test('parseManifests counts empty documents, and names the first that is wrong', () => {
  const parse = (...documents: readonly string[]) =>
    parseManifests(new Map([['app.yaml', Buffer.from(documents.join('\n---\n'))]]));
  expect(parse('kind: One', '', 'kind: Two').map(({ index }) => index)).toEqual([0, 2]);
  expect(() => parse('kind: One', 'a: 1\na: 2', '- list', 'a: [')).toThrow(
    expect.objectContaining({ code: 'YAML_SYNTAX', at: { file: 'app.yaml', line: 4, column: 1 } }),
  );
  expect(() => parse('kind: One', '- list', 'a: [')).toThrow(
    expect.objectContaining({ code: 'OBJECT_INVALID', message: 'document 2 is not a Kubernetes object' }),
  );
});
