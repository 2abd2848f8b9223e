import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { defined } from '#bundles/defined';
import { isConditionalMember } from '../lint/plugin.ts';

/** What the lint rule says of the first spread in `object`. */
const isRefused = (object: string): boolean => {
  const [statement] = parseAst(`(${object});`).body;
  const { expression } = statement as unknown as { expression: { properties: { type: string }[] } };
  const spread = expression.properties.find(({ type }) => type === 'SpreadElement');
  return isConditionalMember(spread as Parameters<typeof isConditionalMember>[0]);
};

test.each([
  '{ ...(x && { x }) }',
  '{ a, ...(x !== undefined && { y: x.y }) }',
  '{ ...(x === undefined ? {} : { x }) }',
  '{ ...(x ? { [y]: x } : {}) }',
])('one member under a condition is refused: %s', (object) => {
  expect(isRefused(object)).toBe(true);
});

test.each([
  '{ ...defined({ x }) }',
  '{ ...x }',
  '{ ...(x && { y, z }) }',
  '{ ...(x ? { y } : { z }) }',
  '{ ...(x && f(x)) }',
  '{ ...(x ?? { y }) }',
])('members that belong together, and other spreads, are allowed: %s', (object) => {
  expect(isRefused(object)).toBe(false);
});

test('defined leaves members out that are undefined and keeps the order of the others', () => {
  const made = defined({ b: null, a: undefined, c: false, d: 0, e: '' });
  expect(Object.entries(made)).toStrictEqual([
    ['b', null],
    ['c', false],
    ['d', 0],
    ['e', ''],
  ]);
  expect('a' in made).toBe(false);
});

test('a member of defined does not replace the same member before it when it is undefined', () => {
  expect({ a: 1, ...defined({ a: undefined as number | undefined }) }).toStrictEqual({ a: 1 });
});
