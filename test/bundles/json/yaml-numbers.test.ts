import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { withYamlNumbers, yamlNumber } from '#bundles/json/yaml-numbers';

/** What sigs.k8s.io/yaml makes of each text; test/integration/kubernetes/yaml-numbers.test.ts asks it about generated ones. */
it.each([
  ['1e3', 1000],
  ['12e03', 12_000],
  ['.5', 0.5],
  ['1.', 1],
  ['1e20', 1e20],
  ['007.5', 7.5],
  ['1_000.5', 1000.5],
  ['-0', 0n],
  ['+1', 1n],
  ['0x10', 16n],
  ['-0x1f', -31n],
  ['0o17', 15n],
  ['017', 15n],
  ['-017', -15n],
  ['08', 8],
  ['0b101', 5n],
  ['0b-11', -3n],
  ['1_000', 1000n],
  ['1__0_', 10n],
  ['9007199254740993', 9_007_199_254_740_993n],
  ['18446744073709551615', 18_446_744_073_709_551_615n],
  ['18446744073709551616', 2 ** 64],
  ['-9223372036854775809', -(2 ** 63)],
  ['.inf', Infinity],
  ['-.INF', -Infinity],
  ['.nan', Number.NaN],
])('yamlNumber reads %s as the number %s', (text, value) => {
  expect(yamlNumber(text)).toBe(value);
});

it.each([
  '1e400',
  '0x',
  '0xg',
  '0o-17',
  '0x1p3',
  '_1',
  '1e',
  'e3',
  '1:30',
  '2001-01-01',
  '._5',
  'inf',
  '',
  '.',
  '-',
  '1.2.3',
])('yamlNumber leaves %s as text', (text) => {
  expect(yamlNumber(text)).toBeUndefined();
});

it('a document with withYamlNumbers is written as it was read', () => {
  const text = 'a: [017, 1_000, 1e3, 1e400, .5, 0x10, 9007199254740993, "017", !!float 1, 1.2.3]\n';
  const document = parseDocument(text, { customTags: withYamlNumbers });
  expect(document.errors).toEqual([]);
  expect(document.toString({ flowCollectionPadding: false, lineWidth: 0 })).toBe(text);
  expect(document.getIn(['a', 0])).toBe(15n);
  expect(document.getIn(['a', 3])).toBe('1e400');
  expect(document.getIn(['a', 7])).toBe('017');
  expect(document.getIn(['a', 8])).toBe(1);
});
