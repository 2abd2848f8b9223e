import { readChangedValues } from '#bundles/formats/author-schema/changed-values';
import type { Audit, Events } from '#bundles/schemas/types/hub-decisions';
import { describeEntry } from './describe-entry.ts';
import type { Tone } from './tone.ts';

/** An event of a site or a decision of the office, for a timeline. */
export type Happening = {
  readonly id: string;
  readonly at: string;
  /** When the hub received it; null: the hub made it. */
  readonly receivedAt: string | null;
  readonly by: 'site' | 'office';
  readonly tone: Tone;
  readonly title: string;
  readonly text: string | null;
  /** Address of its cause. */
  readonly to: string;
};

type Answers = { readonly events: Events['events']; readonly entries: Audit['entries'] };

/**
 * Events that changed something and decisions about the same environments, the newest first. Decisions are cut at the oldest event,
 * because a later page has those before it, and on a later page at the oldest event of the page before. Checks that found nothing are left out;
 * the table of events has them.
 * @param hasMore whether there are older events
 * @param before the time of the oldest event of the page before
 */
export const joinHappenings = (
  { events, entries }: Answers,
  hasMore: boolean,
  before?: string,
): readonly Happening[] => {
  const ofSite = events.flatMap((one) => {
    const { event, hash, source } = one;
    return isQuietCheck(event)
      ? []
      : [{ ...ofEvent(event), id: hash, at: event.at, receivedAt: source.receivedAt }];
  });
  const oldest = timeOfOldest(events);
  const decided = entries
    .filter(
      ({ at }) => (!hasMore || oldest === null || at >= oldest) && (before === undefined || at < before),
    )
    .map(
      (entry): Happening => ({
        id: entry.digest,
        at: entry.at,
        receivedAt: null,
        by: 'office',
        tone: 'quiet',
        title: `${entry.person ?? 'A rule'}: ${describeEntry(entry)}`,
        text: entry.reason,
        to: `/audit${entry.environment === null ? '' : `?environment=${encodeURIComponent(entry.environment)}`}`,
      }),
    );
  return [...ofSite, ...decided].toSorted((a, b) => (a.at < b.at ? 1 : -1));
};

/** Whether a decision may concern agents that follow these channels: `only` is one of the channels, or names no channel. */
export const isAboutChannels = (
  { environment, only }: Pick<Audit['entries'][number], 'environment' | 'only'>,
  channels: readonly { readonly environment: string; readonly clusterType: string }[],
): boolean => {
  const [place, ...others] = only?.split('/') ?? [];
  const isChannel = place === environment && others.length === 1;
  return !isChannel || channels.some((one) => `${one.environment}/${one.clusterType}` === only);
};

/** The time of the oldest event; null if there are no events. */
export const timeOfOldest = (events: Events['events']): string | null =>
  events.reduce<string | null>(
    (oldest, { event }) => (oldest === null || event.at < oldest ? event.at : oldest),
    null,
  );

type Event = Events['events'][number]['event'];

const isQuietCheck = ({ type, outcome, code }: Event): boolean =>
  type === 'check' && outcome === 'unchanged' && code === undefined;

/** The changed values that a package was applied with, and the message of the agent; null: neither is known. */
const textOfEvent = ({ detail, message }: Event): string | null => {
  const values = readChangedValues(detail).map(
    ({ name, old = 'nothing', new: now = 'nothing' }) => `${name} ${old} → ${now}`,
  );
  const parts = [...values, ...(message === undefined ? [] : [message])];
  return parts.length === 0 ? null : parts.join('; ');
};

const ofEvent = (event: Event): Omit<Happening, 'id' | 'at' | 'receivedAt'> => {
  const { agent, type, assignment, release, outcome, code } = event;
  const [, machine = ''] = agent.split('/');
  const what = [
    type === 'package' ? `${assignment ?? machine}:` : `${assignment ?? machine} ${WORDS[type] ?? type}`,
    release === undefined
      ? ''
      : `release ${release.version} of ${release.environment}/${release.clusterType}`,
    outcome === undefined || outcome === 'unchanged' ? '' : outcome,
    code ?? '',
  ];
  return {
    by: 'site',
    tone: toneOfEvent(event),
    title: what.filter((part) => part !== '').join(' '),
    text: textOfEvent(event),
    to: eventAddress(event),
  };
};

/** Address of the cause of an event: its package, the decisions about its release, or what its agent runs. */
export const eventAddress = ({ agent, assignment, release }: Event): string => {
  if (assignment !== undefined) return `/sites/${agent}/${assignment}`;
  return release === undefined
    ? `/where?name=${encodeURIComponent(agent)}`
    : `/audit?environment=${encodeURIComponent(release.environment)}`;
};

/** Words for types of events, where the type alone is not one. */
const WORDS: Readonly<Record<string, string>> = {
  imported: 'imported',
  check: 'was checked:',
  drift: 'was compared:',
  held: 'is held',
};

const toneOfEvent = ({ type, outcome, code }: Event): Tone => {
  if (outcome === 'failed' || code === 'DRIFT') return 'bad';
  if (code !== undefined || type === 'held') return 'late';
  return 'good';
};
