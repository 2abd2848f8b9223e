import { describe, expect, test } from 'vitest';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { filterRows } from '../../../../../scheduler/page/parts/facet.ts';
import { facetsOf } from '../../../../../scheduler/page/parts/fleet/facets.ts';
import {
  describeSite,
  dividingLabels,
  sitesOf,
} from '../../../../../scheduler/page/parts/fleet/fleet-site.ts';
import { groupSites } from '../../../../../scheduler/page/parts/fleet/group-sites.ts';
import { waitsOf } from '../../../../../scheduler/page/parts/fleet/waits-of.ts';

const NOW = Date.parse('2026-11-21T08:00:00Z');
const HOUR = 3600;

const state = (verdict: string, count: number, more: object = {}) =>
  ({ verdict, silent: false, stopped: false, freshness: 'fresh', count, ...more }) as never;

const JUDGED: Overview['judged'] = [
  { agents: 1, assignments: 2, states: [state('complies', 2)], values: null },
  { agents: 1, assignments: 2, states: [state('complies', 1), state('failed', 1)], values: null },
  { agents: 1, assignments: 2, states: [state('complies', 2, { freshness: 'late' })], values: null },
  { agents: 1, assignments: 2, states: [state('complies', 2)], values: 'lacking' },
];
const PLACES: Overview['places'] = [
  { channels: ['prod/press'], labels: { region: 'north', serial: 'a' } },
  { channels: ['prod/till', 'qa/till'], labels: { region: 'south', serial: 'b' } },
  { channels: ['prod/press'], labels: {} },
];

const cause = (kind: string, sites: readonly number[], more: object = {}) =>
  ({ kind, code: null, check: null, assignment: null, channel: null, sites, ...more }) as never;

const answer: Overview = {
  sites: {
    name: ['a', 'b', 'c', 'd'],
    judged: [0, 1, 2, 3],
    place: [0, 0, 1, 2],
    saidAt: [NOW / 1000 - 60, NOW / 1000 - 5 * HOUR, NOW / 1000 - 900 * HOUR, null],
  },
  judged: JUDGED,
  places: PLACES,
  causes: [cause('failed', [1], { code: 'CHECK_FAILED', check: 'door' }), cause('late', [2])],
} as never;

const sites = sitesOf(answer);
const facets = facetsOf(sites, answer.causes, NOW);
const filter = (query: string) => filterRows(sites, facets, new URLSearchParams(query));
const named = (query: string) => filter(query).found.map(({ name }) => name);
const choices = (key: string, query = '') =>
  filter(query)
    .choices.get(key)
    ?.map(({ value, count }) => `${value} ${count}`);

describe('the sites of an overview', () => {
  test('have the worst tone of their packages, and one that lacks values is late', () => {
    expect(sites.map(({ tone }) => tone)).toEqual(['good', 'bad', 'late', 'late']);
  });

  test('are described worst first', () => {
    expect(sites.map(({ judged }) => describeSite(judged))).toEqual([
      '2 complies',
      '1 failed, 1 complies',
      '2 complies late',
      '2 complies, lacks values',
    ]);
  });
});

describe('filters', () => {
  test('are combined', () => {
    expect(named('')).toEqual(['a', 'b', 'c', 'd']);
    expect(named('label-region=north')).toEqual(['a', 'b']);
    expect(named('label-region=north&verdict=failed')).toEqual(['b']);
    expect(named('cause=CHECK_FAILED+door')).toEqual(['b']);
    expect(named('channel=qa/till')).toEqual(['c']);
    expect(named('word=never')).toEqual(['d']);
    expect(named('tone=bad&word=never')).toEqual([]);
  });

  test('count their choices among the sites that the others leave', () => {
    expect(choices('tone')).toEqual(['bad 1', 'late 2', 'good 1']);
    expect(choices('tone', 'label-region=north')).toEqual(['bad 1', 'good 1']);
    expect(choices('label-region', 'label-region=north')).toEqual(['north 2', 'south 1']);
    expect(choices('tone', 'label-region=north&verdict=failed')).toEqual(['bad 1']);
    expect(choices('label-region', 'label-region=south&verdict=failed')).toEqual(['north 1', 'south 0']);
    expect(choices('word')).toEqual(['hour 1', 'day 1', 'older 1', 'never 1']);
  });

  test('show a value of the address that no site has', () => {
    expect(choices('verdict', 'verdict=nonsense')).toContain('nonsense 0');
  });
});

describe('groups of sites', () => {
  test('are by a label that has two or more values', () => {
    expect(dividingLabels(sites)).toEqual(['region', 'serial']);
    const { groups, by } = groupSites(sites, ['region'], new URLSearchParams());
    expect([by, groups.map(({ name, sites: of }) => `${name} ${of.length}`)]).toEqual([
      'region',
      ['no region 1', 'north 2', 'south 1'],
    ]);
  });

  test('lead to one group alone, divided by the next label, and back', () => {
    const { groups } = groupSites(sites, ['region'], new URLSearchParams('environment=prod'));
    const to = groups.find(({ name }) => name === 'north')?.to ?? '';
    const inner = groupSites(sites, ['region'], new URLSearchParams(to));
    expect(inner.sites.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(inner.by).toBe('environment');
    expect(inner.inside).toEqual({
      name: 'north',
      back: '?environment=prod&by=environment',
      table: '/sites?environment=prod&label-region=north',
    });
  });

  test('without the label lead to the table of all sites, which has no filter for them', () => {
    const inner = groupSites(sites, ['region'], new URLSearchParams('in=region=no region'));
    expect([inner.sites.map(({ name }) => name), inner.inside.table]).toEqual([['d'], '/sites?']);
  });

  test('what waits for a person leads to filters that the table of sites has', () => {
    const waits = { values: 0, enrolments: 0, releases: [], overdue: 0, held: 1 };
    const [held] = waitsOf({ links: [], waits });
    const { pathname, searchParams } = new URL(held?.to ?? '', 'http://hub');
    expect(pathname).toBe('/sites');
    expect([...searchParams.keys()].filter((key) => !facets.some((facet) => facet.key === key))).toEqual([]);
  });
});
