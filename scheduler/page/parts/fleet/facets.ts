import type { Overview } from '#bundles/transport/hub/client';
import { TONES } from '../tone.ts';
import { causeNames, dividingLabels, type FleetSite, TONE_WORDS, VALUE_STATES } from './fleet-site.ts';

/** A property that sites are filtered by. Its key is the parameter of the address. */
export type Facet = {
  readonly key: string;
  readonly label: string;
  readonly of: (site: FleetSite) => readonly string[];
  /** Text of a value, where it is not the value. */
  readonly names?: Readonly<Record<string, string>>;
  /** Values in this order before all others, which come by their count. */
  readonly order?: readonly string[];
};

export type Choice = { readonly value: string; readonly label: string; readonly count: number };

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
): readonly Facet[] => [
  {
    key: 'tone',
    label: 'Site',
    of: ({ tone }) => [tone],
    names: Object.fromEntries(TONES.map((tone) => [tone, TONE_WORDS[tone][0]])),
    order: TONES,
  },
  {
    key: 'verdict',
    label: 'Package',
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

/** Sites that have every chosen value, and the choices of each facet by its key. */
export type Filtered = {
  readonly found: readonly FleetSite[];
  readonly choices: ReadonlyMap<string, readonly Choice[]>;
};

/**
 * Filters sites by the chosen values of a query and counts the values of every facet, in one pass: a site that all filters leave counts for
 * each facet, a site that one filter removes counts for the facet of that filter. A chosen value that no site has is a choice with 0.
 */
export const filterSites = (
  sites: readonly FleetSite[],
  facets: readonly Facet[],
  query: URLSearchParams,
): Filtered => {
  const counted = facets.map((facet) => {
    const value = query.get(facet.key);
    return { facet, chosen: value === '' ? null : value, counts: new Map<string, number>() };
  });
  const found = sites.filter((site) => {
    const values = counted.map(({ facet }) => facet.of(site));
    const removedBy = counted.filter(
      ({ chosen }, index) => chosen !== null && values[index]?.includes(chosen) === false,
    );
    if (removedBy.length > 1) return false;
    for (const [index, one] of counted.entries())
      if (removedBy.every((other) => other === one))
        for (const value of values[index] ?? []) one.counts.set(value, (one.counts.get(value) ?? 0) + 1);
    return removedBy.length === 0;
  });
  const choices = counted.map(({ facet, chosen, counts }) => {
    if (chosen !== null && !counts.has(chosen)) counts.set(chosen, 0);
    return [facet.key, toChoices(facet, counts)] as const;
  });
  return { found, choices: new Map(choices) };
};

const toChoices = (facet: Facet, counts: ReadonlyMap<string, number>): readonly Choice[] => {
  const place = (value: string): number => {
    const at = facet.order?.indexOf(value) ?? -1;
    return at < 0 ? Number.MAX_SAFE_INTEGER : at;
  };
  return [...counts]
    .map(([value, count]) => ({ value, count, label: facet.names?.[value] ?? value }))
    .toSorted((a, b) => place(a.value) - place(b.value) || b.count - a.count || (a.value < b.value ? -1 : 1));
};
