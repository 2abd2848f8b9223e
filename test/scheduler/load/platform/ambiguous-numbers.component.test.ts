import { expect, test } from 'vitest';
import { loadFleetWith } from './load-written.ts';

const config = (name: string, more: string): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: Config\nmetadata: {name: ${name}}\nspec:\n${more}`;

test('the first number of a Config file that loses its zeros is named with its place, and no others', async () => {
  const { advice, configs } = await loadFleetWith({
    'platform/base/sizes.yaml': `${config('a', '  values: {x: 1.25, deep: [{release: 1.20}, 1.0]}\n')}---\n${config('b', '  values: {y: 2.0}\n')}`,
    'platform/base/sites.yaml': config('c', '  siteSelector: {}\n  values: {z: 7.}\n'),
    'platform/base/plain.yaml': config(
      'd',
      '  values: {a: "1.20", b: 1.5, c: 10, d: 1e3, e: 1.20.0, 1.0: x}\n',
    ),
  });
  expect(advice?.map(({ code, message, at, hint }) => [code, message, at?.line, at?.column, hint])).toEqual([
    [
      'VALUE_AMBIGUOUS',
      expect.stringMatching(/^7\. without quotes is the number 7,/),
      6,
      15,
      expect.any(String),
    ],
    [
      'VALUE_AMBIGUOUS',
      '1.20 without quotes is the number 1.2, and arrives as that',
      5,
      38,
      'Write "1.20" if it is text, else 1.2',
    ],
  ]);
  expect(configs.find(({ name }) => name === 'a')?.values).toEqual({ x: 1.25, deep: [{ release: 1.2 }, 1] });
});
