import { addDays, formatTime } from '#bundles/time';
import { parseWindows } from '#bundles/windows';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import { type Condition, NO_HOLDING } from './verdict.ts';

/** Windows as agents write them, in the time zone of the machine that judges. */
export const judgeWindows = (texts: readonly string[], now: Date): Condition => {
  const windows = parseWindows(texts);
  const met = windows.isOpen(now);
  const opens = met ? undefined : windows.opensAfter(now);
  return {
    name: 'window',
    wanted: texts.join(' or '),
    found: met ? 'open' : 'closed',
    met,
    holding: NO_HOLDING,
    earliest: opens ? formatTime(opens) : null,
    changedBy: met ? [] : ['clock'],
  };
};

/** Days in UTC; the last one belongs to the freeze. Freezes that overlap or follow each other without a gap are one. */
export const judgeFreeze = (freeze: PromotionPolicy['freeze'], now: Date): Condition => {
  const spans = freeze
    .map(({ from, to, reason }) => ({
      from: new Date(from),
      to: addDays(new Date(to), 1),
      text: [`${from} to ${to}`, reason].filter(Boolean).join(', '),
    }))
    .toSorted((a, b) => a.from.getTime() - b.from.getTime());
  const current = spans.filter(({ from, to }) => from <= now && now < to);
  const free = spans.reduce((time, { from, to }) => (from <= time && time < to ? to : time), now);
  const met = current.length === 0;
  return {
    name: 'freeze',
    wanted: 'no freeze',
    found: met ? 'none today' : current.map(({ text }) => text).join('; '),
    met,
    holding: NO_HOLDING,
    earliest: met ? null : formatTime(free),
    changedBy: met ? [] : ['clock'],
  };
};
