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

test('series up to the limit are unchanged', () => {
  expect(boundSeries(three, { folded: ['site'], combine: add, most: 5 })).toEqual({
    series: three,
    beyond: 0,
  });
});

test('series above the limit are added up as "other", and counted', () => {
  const { series, beyond } = boundSeries(three, { folded: ['site'], combine: add, most: 2 });
  expect(series).toEqual([...three.slice(0, 2), of('qa', 'other', 4), of('prod', 'other', 2)]);
  expect(beyond).toBe(3);
});

test('timestamps above the limit are combined to the oldest', () => {
  const { series } = boundSeries(three, { folded: ['site'], combine: Math.min, most: 0 });
  expect(series).toEqual([of('prod', 'other', 2), of('qa', 'other', 1)]);
});
