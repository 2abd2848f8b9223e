import { nameSome } from '#bundles/name-some';
import { parseJson } from '#bundles/json/parse-json';
import type { Event } from '#bundles/formats/events/event';
import type { Happening, HappeningReason } from '../model/agent-facts.ts';
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
      const { assignment, at } = event;
      const described = assignment === undefined ? undefined : describeEvent(event);
      if (!described) return [];
      const [reason, what] = described;
      return [{ id: hash, at, isWarning: WARNINGS.has(reason), reason, message: `${assignment}: ${what}` }];
    }),
    last: lines.at(-1)?.seq ?? after,
  };
};

const WARNINGS: ReadonlySet<HappeningReason> = new Set(['Drifted', 'Failed', 'Held', 'RolledBack']);

type Description = readonly [reason: HappeningReason, what: string];

const describeEvent = (event: Event): Description | undefined => {
  const { type, release, code, message } = event;
  const why = [code, message].filter((part) => part !== undefined).join(': ');
  const because = why === '' ? '' : `: ${why}`;
  switch (type) {
    case 'package':
      return describePackage(event, why);
    case 'removed':
      return ['Removed', `removed${counted(event)}${because}`];
    case 'rolled-back':
      return ['RolledBack', `rolled back${release ? ` to release ${release.version}` : ''}${because}`];
    case 'corrected':
      return ['Corrected', `corrected${named(event)}`];
    case 'drift':
      return event.outcome === undefined ? ['Drifted', `${message ?? 'differs'}${named(event)}`] : undefined;
    default:
      return undefined;
  }
};

const describePackage = (event: Event, why: string): Description | undefined => {
  const { outcome, release, code, message } = event;
  switch (outcome) {
    case 'created':
    case 'configured':
      return ['Applied', `release ${release?.version ?? '?'} applied${counted(event)}`];
    case 'failed':
      return ['Failed', why];
    case 'skipped':
      return ['Held', why];
    case 'unchanged':
      return code === undefined && message !== undefined ? ['Healthy', message] : undefined;
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

/** ' (3 created, 1 configured)'; changes that the event does not list are counted as 'more'. */
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
