import { parseJson } from '#bundles/json/parse-json';
import { isTime, type Timestamp } from '#bundles/time';
import type { Event } from '#bundles/formats/events/event';
import type { AgentRow } from '../../store/tables.ts';

type HeldColumns = Pick<AgentRow, 'held_seq' | 'held_at' | 'held_until' | 'held_by' | 'held_reason'>;

const NOT_HELD = { held_at: null, held_until: null, held_by: null, held_reason: null } as const;

/**
 * Applies the 'held' and 'released' events of a report to an agent: the one with the highest sequence number counts, regardless
 * of the order of reports. @param lineOf the signed line of an event, which has the detail @returns undefined: nothing newer
 */
export const foldHold = (
  agent: Pick<AgentRow, 'held_seq'>,
  events: readonly Event[],
  lineOf: (event: Event) => string,
): HeldColumns | undefined => {
  const event = events.findLast(({ type }) => type === 'held' || type === 'released');
  if (event === undefined || event.seq <= agent.held_seq) return undefined;
  if (event.type === 'released') return { ...NOT_HELD, held_seq: event.seq };
  const { until, operator } = detailOf(lineOf(event));
  return {
    held_seq: event.seq,
    held_at: event.at,
    held_until: until,
    held_by: operator,
    held_reason: event.message ?? null,
  };
};

const MAX_NAME = 256;

/** The detail of an event has no fixed schema. A hold whose end cannot be read has none: it counts until it is released. */
const detailOf = (line: string): { readonly until: Timestamp | null; readonly operator: string | null } => {
  const { detail } = parseJson(line) as { readonly detail?: Readonly<Record<string, unknown>> };
  const { until, operator } = detail ?? {};
  return {
    until: isTime(until) ? until : null,
    operator: typeof operator === 'string' ? operator.slice(0, MAX_NAME) : null,
  };
};
