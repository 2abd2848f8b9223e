import { expect, test } from 'vitest';
import { type Order, sortRows } from '../../../../scheduler/page/parts/order.ts';

type Row = { readonly name: string; readonly count: number };

const ROWS: readonly Row[] = [
  { name: 'b', count: 1 },
  { name: 'a', count: 2 },
  { name: 'c', count: 2 },
];
const ORDERS: readonly Order<Row>[] = [
  { value: 'given', label: 'as given', compare: () => 0 },
  { value: 'count', label: 'most first', compare: (a, b) => b.count - a.count },
];

test.each([
  ['', 'given', 'bac'],
  ['sort=count', 'count', 'acb'],
  ['sort=torn', 'given', 'bac'],
])('rows of ?%s have the order %s: %s', (query, order, names) => {
  const found = sortRows(ROWS, ORDERS, new URLSearchParams(query));
  expect(found.order).toBe(order);
  expect(found.sorted.map(({ name }) => name).join('')).toBe(names);
});

test('a table without orders keeps the order of its rows', () => {
  expect(sortRows(ROWS, [], new URLSearchParams('sort=count'))).toEqual({ sorted: ROWS, order: '' });
});
