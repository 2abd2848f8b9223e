import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Agent } from './agent.ts';
import { readCondition, type SiteHold } from './conditions.ts';

/**
 * The hold in force on this machine: running packages are not changed. A hold for a duration ends by the monotonic clock, and
 * after a reboot by the wall clock; a hold until a time ends by the wall clock.
 */
export const readSiteHold = (agent: Pick<Agent, 'state' | 'edge'>): SiteHold | undefined => {
  const hold = readCondition(agent.state, 'held');
  return hold && !isOver(hold, agent.edge) ? hold : undefined;
};

/** Milliseconds until the hold ends, 0 or less when it is over; undefined for a hold without an end. */
const remainingMs = ({ until, timer }: SiteHold, edge: Agent['edge']): number | undefined => {
  if (until === null) return undefined;
  if (timer?.bootId === edge.bootId) return timer.endsMs - edge.monotonicMs();
  return parseTime(until).getTime() - edge.now().getTime();
};

export const isOver = (hold: SiteHold, edge: Agent['edge']): boolean => (remainingMs(hold, edge) ?? 1) <= 0;

/** When the machine's hold ends, by the wall clock of now; undefined without one, or for a hold without an end. */
export const siteHoldEnds = ({ state, edge }: Pick<Agent, 'state' | 'edge'>): Date | undefined => {
  const hold = readCondition(state, 'held');
  const left = hold && remainingMs(hold, edge);
  return left === undefined ? undefined : new Date(edge.now().getTime() + Math.max(0, left));
};

/** 'held by anna until 2026-11-21T18:00:00Z: batch 17 is running; to end the hold: fleet-agent release' */
export const describeSiteHold = ({
  operator,
  until,
  reason,
}: Pick<SiteHold, 'operator' | 'until' | 'reason'>): string =>
  `held by ${operator}${until === null ? '' : ` until ${until}`}: ${reason}; to end the hold: fleet-agent release`;

/** Start of a hold and its end: at a time, after a duration, or undefined for no end. */
export const beginHold = (
  { now, monotonicMs, bootId, operator }: Agent['edge'],
  end: { readonly at: Timestamp } | { readonly afterMs: number } | undefined,
  reason: string,
): SiteHold => {
  const since = formatTime(now());
  if (end === undefined) return { since, until: null, operator, reason };
  if ('at' in end) return { since, until: end.at, operator, reason };
  return {
    since,
    until: formatTime(new Date(now().getTime() + end.afterMs)),
    timer: { bootId, endsMs: monotonicMs() + end.afterMs },
    operator,
    reason,
  };
};
