import type { Overview } from '#bundles/schemas/types/hub-decisions';
import type { Facet } from '../facet.ts';
import { TONES } from '../tone.ts';
import { causeNames, dividingLabels, type FleetSite, TONE_WORDS, VALUE_STATES } from './fleet-site.ts';

const HOUR_MS = 3_600_000;
const AGES = [
  ['hour', 'an hour', HOUR_MS],
  ['day', 'a day', 24 * HOUR_MS],
  ['week', 'a week', 7 * 24 * HOUR_MS],
  ['month', '30 days', 30 * 24 * HOUR_MS],
] as const;

const ageOf = (saidAt: number | null, now: number): string =>
  saidAt === null ? 'never' : (AGES.find(([, , ms]) => now - saidAt <= ms)?.[0] ?? 'older');

/** Key of the facet of a label of sites. */
export const labelKey = (name: string): string => `label-${name}`;

/** @param now the hub's time, in ms */
export const facetsOf = (
  sites: readonly FleetSite[],
  causes: Overview['causes'],
  now: number,
): readonly Facet<FleetSite>[] => [
  {
    key: 'tone',
    label: 'State',
    of: ({ tone }) => [tone],
    names: Object.fromEntries(TONES.map((tone) => [tone, TONE_WORDS[tone][0]])),
    order: TONES,
  },
  {
    key: 'verdict',
    label: 'Packages',
    of: ({ judged }) => [...new Set(judged.states.map(({ verdict }) => verdict))],
  },
  {
    key: 'cause',
    label: 'Cause',
    of: (site) => causeNames(site, causes),
  },
  {
    key: 'values',
    label: 'Values',
    of: ({ judged: { values } }) => (values === null ? [] : [values]),
    names: VALUE_STATES,
  },
  { key: 'channel', label: 'Channel', of: ({ place }) => place.channels },
  ...dividingLabels(sites).map((name) => ({
    key: labelKey(name),
    label: name,
    of: ({ place: { labels } }: FleetSite) => (labels[name] === undefined ? [] : [labels[name]]),
  })),
  {
    key: 'word',
    label: 'Last word',
    of: ({ saidAt }) => [ageOf(saidAt, now)],
    names: {
      ...Object.fromEntries(AGES.map(([key, name]) => [key, `within ${name}`])),
      older: 'older',
      never: 'never',
    },
    order: [...AGES.map(([key]) => key), 'older', 'never'],
  },
];
