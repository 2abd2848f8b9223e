import { nameSome } from '#bundles/name-some';
import { parseJson } from '#bundles/json/parse-json';
import type { Event } from '#bundles/formats/events/event';
import type { Happening } from '../model/agent-facts.ts';
import { readEventsAfter } from '../store/outbox/outbox.ts';
import type { State } from '../store/state.ts';

/** Happenings since an event, and the number of the last event read. Events that say nothing new to a person are left out. */
export const readHappenings = (
  state: State,
  after: number,
): { readonly happenings: readonly Happening[]; readonly last: number } => {
  const lines = readEventsAfter(state, after);
  return {
    happenings: lines.flatMap(({ hash, line }) => {
      const event = parseJson(line) as Event;
      const described = describeEvent(event);
      return described ? [{ id: hash, at: event.at, ...described }] : [];
    }),
    last: lines.at(-1)?.seq ?? after,
  };
};

type Description = Pick<Happening, 'isWarning' | 'reason' | 'message'>;

const describeEvent = (event: Event): Description | undefined => {
  const { type, assignment, release, code, message } = event;
  if (assignment === undefined) return undefined;
  const version = release === undefined ? '' : ` release ${release.version}`;
  const why = [code, message].filter((part) => part !== undefined).join(': ');
  const because = why === '' ? '' : `: ${why}`;
  const good = (reason: Happening['reason'], what: string): Description => ({
    reason,
    isWarning: false,
    message: `${assignment}: ${what}`,
  });
  const bad = (reason: Happening['reason'], what: string): Description => ({
    reason,
    isWarning: true,
    message: `${assignment}: ${what}`,
  });
  switch (type) {
    case 'package':
      return describePackage(event, { good, bad, why });
    case 'removed':
      return good('Removed', `removed${counted(event)}${because}`);
    case 'rolled-back':
      return bad('RolledBack', `rolled back${version === '' ? '' : ` to${version}`}${because}`);
    case 'corrected':
      return good('Corrected', `corrected${named(event)}`);
    case 'drift':
      return event.outcome === undefined
        ? bad('Drifted', `${message ?? 'differs'}${named(event)}`)
        : undefined;
    default:
      return undefined;
  }
};

const describePackage = (
  event: Event,
  {
    good,
    bad,
    why,
  }: {
    readonly good: (reason: Happening['reason'], what: string) => Description;
    readonly bad: (reason: Happening['reason'], what: string) => Description;
    readonly why: string;
  },
): Description | undefined => {
  const { outcome, release, code, message } = event;
  switch (outcome) {
    case 'created':
    case 'configured':
      return good('Applied', `release ${release?.version ?? '?'} applied${counted(event)}`);
    case 'failed':
      return bad('Failed', why);
    case 'skipped':
      return bad('Held', why);
    case 'unchanged':
      return code === undefined && message !== undefined ? good('Healthy', message) : undefined;
    case 'deleted':
    case undefined:
      return undefined;
  }
};

type Listed = { readonly key: string; readonly outcome?: string };

const changesIn = ({ detail }: Event): readonly Listed[] =>
  [...((detail?.['changes'] ?? []) as Listed[]), ...((detail?.['drift'] ?? []) as Listed[])].filter(
    ({ outcome }) => outcome !== 'skipped',
  );

/** ' (3 created, 1 configured)'; of a long list at least so many. */
const counted = (event: Event): string => {
  const counts = Map.groupBy(changesIn(event), ({ outcome = 'changed' }) => outcome);
  const more = typeof event.detail?.['more'] === 'number' ? [`${event.detail['more']} more`] : [];
  const parts = [...[...counts].map(([outcome, some]) => `${some.length} ${outcome}`), ...more];
  return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
};

const MAX_NAMED = 5;

const named = (event: Event): string => {
  const keys = changesIn(event).map(({ key }) => key);
  return keys.length === 0 ? '' : `: ${nameSome(keys, MAX_NAMED)}`;
};
