import { expect, it } from 'vitest';
import { lineWidth } from '../../cli/line-width.ts';

it.each([
  ['a terminal', { isTTY: true, columns: 132 }, {}, 132],
  ['a terminal that does not say', { isTTY: true }, {}, 80],
  ['a serial line', { isTTY: true, columns: 0 }, {}, 80],
  ['a pipe', {}, {}, undefined],
  ['COLUMNS on a terminal', { isTTY: true, columns: 132 }, { COLUMNS: '100' }, 100],
  ['COLUMNS of watch', {}, { COLUMNS: '100' }, 100],
  ['an empty COLUMNS', {}, { COLUMNS: '' }, undefined],
  ['a COLUMNS that is no count', { isTTY: true, columns: 132 }, { COLUMNS: '0' }, 132],
  ['a COLUMNS that is no number', {}, { COLUMNS: 'wide' }, undefined],
])('%s has its width', (_, output, env, width) => {
  expect(lineWidth(output, env)).toBe(width);
});
