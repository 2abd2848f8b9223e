import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { ageMarks } from '../../../hub/questions/status/attention.ts';
import { byTone, isBad, type Tone, toneOf, TONES } from '../tone.ts';

type Judged = Overview['judged'][number];
type Place = Overview['places'][number];

/** A site of the overview, read from the columns of the answer. */
export type FleetSite = {
  readonly name: string;
  readonly judged: Judged;
  readonly place: Place;
  /** ms since 1970; null: none of its agents ever spoke. */
  readonly saidAt: number | null;
  readonly tone: Tone;
  /** Indexes of its causes in the answer. */
  readonly causes: readonly number[];
};

const worstTone = ({ states, values }: Judged): Tone => {
  const worst = TONES.find((tone) => states.some((state) => toneOf(state) === tone)) ?? 'quiet';
  return values === null || worst === 'bad' ? worst : 'late';
};

/** The sites of an answer, by name. */
export const sitesOf = ({ sites, judged, places, causes }: Overview): readonly FleetSite[] => {
  const causesOf = new Map<number, number[]>();
  for (const [index, cause] of causes.entries())
    for (const site of cause.sites) causesOf.set(site, [...(causesOf.get(site) ?? []), index]);
  const tones = judged.map(worstTone);
  return sites.name.flatMap((name, at) => {
    const index = sites.judged[at] ?? -1;
    const [of, place] = [judged[index], places[sites.place[at] ?? -1]];
    if (of === undefined || place === undefined) return [];
    const seconds = sites.saidAt[at] ?? null;
    return [
      {
        name,
        judged: of,
        place,
        saidAt: seconds === null ? null : seconds * 1000,
        tone: tones[index] ?? 'quiet',
        causes: causesOf.get(at) ?? [],
      },
    ];
  });
};

/** Words for sites whose values are held. */
export const VALUE_STATES = {
  kept: 'keeps its values',
  lacking: 'lacks values',
  differing: 'differs from the repository',
} as const;

/** The verdicts of a site with what their age adds, counted, worst first: '2 failed, 5 complies late'. */
export const describeSite = ({ states, values }: Judged): string =>
  [
    ...states
      .toSorted(byTone)
      .map((state) => `${state.count} ${[state.verdict, ...ageMarks(state)].join(' ')}`),
    ...(values === null ? [] : [VALUE_STATES[values]]),
  ].join(', ');

/** Keys of labels that divide sites: of two or more values, and of few enough to choose from. */
export const dividingLabels = (sites: readonly FleetSite[]): readonly string[] => {
  const values = new Map<string, Set<string>>();
  for (const place of new Set(sites.map((site) => site.place)))
    for (const [key, value] of Object.entries(place.labels)) {
      const known = values.get(key) ?? new Set<string>();
      values.set(key, known.add(value));
    }
  return [...values].flatMap(([key, of]) => (of.size >= 2 && of.size <= MAX_GROUPS ? [key] : [])).toSorted();
};

/** Groups of one picture, and choices of one filter. */
const MAX_GROUPS = 60;

export type CauseName = Pick<
  Overview['causes'][number],
  'kind' | 'code' | 'check' | 'assignment' | 'channel'
>;

/** 'CHECK_FAILED every-program-has-a-limit', 'drifted: oven-control', 'late'. */
export const nameCause = ({ kind, code, check, assignment, channel }: CauseName): string => {
  const of = check ?? assignment ?? channel;
  if (kind === 'failed') return [code ?? kind, of].filter((part) => part !== null).join(' ');
  return of === null ? kind : `${kind}: ${of}`;
};

export const toneOfCause = (kind: CauseName['kind']): Tone => (isBad(kind) ? 'bad' : 'late');

/** Words for one site and for several sites of a tone. */
export const TONE_WORDS: Readonly<Record<Tone, readonly [one: string, many: string]>> = {
  bad: ['fails', 'fail'],
  late: ['late or behind', 'late or behind'],
  quiet: ['waits or is held', 'wait or are held'],
  good: ['complies', 'comply'],
};

/** Names of the causes of a site. */
export const causeNames = ({ causes }: FleetSite, all: Overview['causes']): readonly string[] =>
  causes.flatMap((at) => (all[at] ? [nameCause(all[at])] : []));
