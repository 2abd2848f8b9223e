import { expect, test } from 'vitest';
import type { Audit, Events } from '#bundles/schemas/types/hub-decisions';
import {
  eventAddress,
  isAboutChannels,
  joinHappenings,
  timeOfOldest,
} from '../../../../scheduler/page/parts/happenings.ts';

const event = (at: string, more: object): Events['events'][number] =>
  ({
    event: { agent: 'plant-7/press-1', at, type: 'check', assignment: 'oven', ...more },
    hash: `sha256:${at}`,
    source: { receivedAt: at },
  }) as never;

const entry = (at: string, more: object = {}): Audit['entries'][number] =>
  ({
    number: 1,
    at,
    environment: 'prod',
    what: 'promote',
    promotion: null,
    only: null,
    stage: null,
    workspaces: null,
    release: null,
    ended: null,
    about: null,
    person: 'mara',
    reason: 'it is tested',
    digest: `sha256:entry-${at}`,
    ...more,
  }) as never;

const EVENTS = [
  event('2026-11-20T00:00:00Z', { outcome: 'failed', code: 'CHECK_FAILED', message: 'the door is open' }),
  event('2026-11-19T00:00:00Z', { outcome: 'unchanged' }),
  event('2026-11-17T00:00:00Z', {
    type: 'package',
    outcome: 'configured',
    release: { environment: 'prod', clusterType: 'press', version: 2 },
  }),
];

test('an event of a package names the values of the site that changed', () => {
  const values = [{ name: 'beltSpeed', old: '12', new: '14' }, { name: 'gate', new: '"g"' }, 'torn'];
  const applied = event('2026-11-20T00:00:00Z', {
    type: 'package',
    outcome: 'configured',
    detail: { values },
  });
  const [happening] = joinHappenings({ events: [applied], entries: [] }, false);
  expect(happening?.text).toBe('beltSpeed 12 → 14; gate nothing → "g"');
});

test.each([
  ['its package', { assignment: 'oven' }, '/sites/plant-7/press-1/oven'],
  [
    'the decisions of the environment of its release',
    { release: { environment: 'prod', clusterType: 'press', version: 2 } },
    '/audit?environment=prod',
  ],
  ['what its agent runs', {}, '/where?name=plant-7%2Fpress-1'],
])('an event leads to %s', (_, about, address) => {
  expect(eventAddress({ agent: 'plant-7/press-1', type: 'check', ...about } as never)).toBe(address);
});

test('a timeline has events of the site and decisions of the office, the newest first, each with its cause', () => {
  const entries = [entry('2026-11-18T00:00:00Z')];
  expect(
    joinHappenings({ events: EVENTS, entries }, false).map(({ by, tone, title, text, to }) => [
      by,
      tone,
      title,
      text,
      to,
    ]),
  ).toEqual([
    [
      'site',
      'bad',
      'oven was checked: failed CHECK_FAILED',
      'the door is open',
      '/sites/plant-7/press-1/oven',
    ],
    ['office', 'quiet', 'mara: promote', 'it is tested', '/audit?environment=prod'],
    ['site', 'good', 'oven: release 2 of prod/press configured', null, '/sites/plant-7/press-1/oven'],
  ]);
});

test('decisions before the oldest event are on the page that has older events', () => {
  const entries = [entry('2026-11-18T00:00:00Z'), entry('2026-11-01T00:00:00Z')];
  const dates = (hasMore: boolean) =>
    joinHappenings({ events: EVENTS, entries }, hasMore)
      .filter(({ by }) => by === 'office')
      .map(({ at }) => at.slice(0, 10));
  expect(dates(true)).toEqual(['2026-11-18']);
  expect(dates(false)).toEqual(['2026-11-18', '2026-11-01']);
});

test('a later page does not repeat the decisions of the page before', () => {
  const entries = [entry('2026-11-19T12:00:00Z'), entry('2026-11-18T00:00:00Z')];
  const [newest, ...older] = EVENTS;
  const pages = [
    joinHappenings({ events: [newest!], entries }, true),
    joinHappenings({ events: older, entries }, false, timeOfOldest([newest!]) ?? undefined),
  ];
  expect(
    pages.map((page) => page.filter(({ by }) => by === 'office').map(({ at }) => at.slice(0, 10))),
  ).toEqual([[], ['2026-11-19', '2026-11-18']]);
  expect(
    joinHappenings({ events: older, entries }, false, '2026-11-19T00:00:00Z').map(({ at }) => at),
  ).not.toContain('2026-11-19T12:00:00Z');
});

test('a decision about another channel is not about a site, one about an environment or an assignment is', () => {
  const channels = [{ environment: 'prod', clusterType: 'press' }];
  const isAbout = (only: string | null) => isAboutChannels({ environment: 'prod', only }, channels);
  expect(isAbout(null)).toBe(true);
  expect(isAbout('prod/press')).toBe(true);
  expect(isAbout('oven')).toBe(true);
  expect(isAbout('prod/till')).toBe(false);
});
