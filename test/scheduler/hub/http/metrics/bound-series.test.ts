import { expect, test } from 'vitest';
import { add, boundSeries } from '../../../../../scheduler/hub/http/metrics/bound-series.ts';

const of = (environment: string, site: string, value: number) => ({ labels: { environment, site }, value });
const three = [
  of('prod', 'a', 5),
  of('prod', 'b', 4),
  of('qa', 'c', 3),
  of('prod', 'd', 2),
  of('qa', 'e', 1),
];

test('series below the limit are kept as they are', () => {
  expect(boundSeries(three, { folded: ['site'], combine: add, most: 5 })).toEqual({
    series: three,
    beyond: 0,
  });
});

test('the last ones beyond the limit are added up as "other", and their number is known', () => {
  const { series, beyond } = boundSeries(three, { folded: ['site'], combine: add, most: 2 });
  expect(series).toEqual([...three.slice(0, 2), of('qa', 'other', 4), of('prod', 'other', 2)]);
  expect(beyond).toBe(3);
});

test('times are combined to the oldest', () => {
  const { series } = boundSeries(three, { folded: ['site'], combine: Math.min, most: 0 });
  expect(series).toEqual([of('prod', 'other', 2), of('qa', 'other', 1)]);
});
