import { expect, test } from 'vitest';
import { codeParts } from '../../../../scheduler/page/parts/code-parts.ts';

test.each([
  ['Names of `Config` and `Site`.', ['Names of ', 'Config', ' and ', 'Site', '.']],
  ['`fleet` is ours', ['', 'fleet', ' is ours']],
  ['one ` alone', ['one ` alone']],
  ['', ['']],
])('every second part of a description is code: %s', (text, parts) => {
  expect(codeParts(text)).toEqual(parts);
});
