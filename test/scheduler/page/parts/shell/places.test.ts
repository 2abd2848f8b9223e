import { describe, expect, test } from 'vitest';
import { ADDRESSES } from '../../../../../scheduler/page/addresses.ts';
import { ALL_PLACES, crumbsOf, placeOf } from '../../../../../scheduler/page/parts/shell/places.ts';

describe('the side bar', () => {
  test.each(ALL_PLACES)('leads to a view that exists: $to', ({ to }) => {
    expect(ADDRESSES).toContain(to.slice(1));
  });

  test('marks the place of a view and of its details', () => {
    expect(placeOf('/')?.title).toBe('Overview');
    expect(placeOf('/workloads/oven')?.title).toBe('Workloads');
    expect(placeOf('/workloads-else')).toBeUndefined();
  });
});

describe('the breadcrumb', () => {
  test('leads from the overview to a package, the agent by the view of its site', () => {
    expect(crumbsOf('/sites/plant-7/press-1/oven')).toEqual([
      { title: 'Overview', to: '/' },
      { title: 'Sites', to: '/sites' },
      { title: 'plant-7', to: '/sites/plant-7' },
      { title: 'press-1', to: '/sites/plant-7' },
      { title: 'oven' },
    ]);
  });

  test('of the form for many sites leads to all values and to no site of the name "select"', () => {
    expect(crumbsOf('/values/select/sites')).toEqual([
      { title: 'Overview', to: '/' },
      { title: 'Values', to: '/values' },
      { title: 'Many sites' },
    ]);
  });

  test('of the overview has no way back', () => {
    expect(crumbsOf('/')).toEqual([{ title: 'Overview' }]);
  });

  test('shows names as text, and a part of an address that is no text unchanged', () => {
    expect(crumbsOf('/workloads/a%20b').at(-1)).toEqual({ title: 'a b' });
    expect(crumbsOf('/workloads/%E0%A4%A').at(-1)).toEqual({ title: '%E0%A4%A' });
  });
});
