import { expect, test } from 'vitest';
import { exactText } from '../../../scheduler/model/exact-text.ts';
import { WholeFloat } from '../../../scheduler/model/go/number.ts';

test('values that templates print differently have different texts', () => {
  const values = [
    5,
    5n,
    '5',
    new WholeFloat(5),
    { value: 5 },
    [5],
    0,
    -0,
    null,
    'null',
    Number.NaN,
    'NaN',
    [],
    {},
    new Map(),
    new Set(),
    new Map([['a', 5]]),
    { a: 5 },
    [['a', 5]],
    { '\0map': [['a', 5]] },
    { '\0object': [['\0map', [['a', 5]]]] },
    new Map<unknown, unknown>([[5, 5]]),
    new Map<unknown, unknown>([[new WholeFloat(5), 5]]),
    { '\0float': '5' },
    { '\0integer': '5' },
  ];
  const texts = values.map((value) => exactText([value]));
  expect(new Set(texts).size).toBe(values.length);
});

test('equal values have one text, and a member that is undefined counts as absent', () => {
  expect(exactText({ a: 1, b: undefined })).toBe(exactText({ a: 1 }));
  expect(exactText(new Map([['a', new WholeFloat(1)]]))).toBe(exactText(new Map([['a', new WholeFloat(1)]])));
});
