import { type Clock, systemClock } from '../../watch/clock.ts';
import type { HealthContext } from '../verdict.ts';

export type SettleOptions = {
  readonly clock: Clock;
  /** How long an object whose status says nothing may still be one that nobody looked at (checklist W3). */
  readonly windowMs: number;
  /** A server that is away for longer ends the wait with API_UNREACHABLE; less than that does not count. */
  readonly outageMs: number;
  readonly loadBalancer: HealthContext['loadBalancer'];
  /** Keys of objects that were just changed, with the resourceVersion that this made: their status may still be the old one's. */
  readonly changed: ReadonlyMap<string, string>;
  /** Keys of objects that were Current when they were applied, and that nothing but a person changes. */
  readonly current: ReadonlySet<string>;
};

export const SETTLE_DEFAULTS: SettleOptions = {
  clock: systemClock,
  windowMs: 5000,
  outageMs: 60_000,
  loadBalancer: 'clusterIP',
  changed: new Map(),
  current: new Set(),
};
