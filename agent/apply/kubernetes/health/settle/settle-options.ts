import { type Clock, systemClock } from '../../watch/clock.ts';
import type { HealthContext } from '../verdict.ts';

export type SettleOptions = {
  readonly clock: Clock;
  /** How long an empty status may mean that no controller has processed the object (checklist W3). */
  readonly windowMs: number;
  /** Retry budget for an unreachable server. After it the wait ends with API_UNREACHABLE. */
  readonly outageMs: number;
  readonly loadBalancer: HealthContext['loadBalancer'];
  /** Key -> new resourceVersion of objects that were just changed. Their status may be from before the change. */
  readonly changed: ReadonlyMap<string, string>;
  /** Keys of objects that were Current when they were applied and that no controller changes. */
  readonly current: ReadonlySet<string>;
  /** Namespaces whose workloads come later: the Services in them that webhooks call are not asked for endpoints yet. */
  readonly later: ReadonlySet<string>;
};

export const SETTLE_DEFAULTS: SettleOptions = {
  clock: systemClock,
  windowMs: 5000,
  outageMs: 60_000,
  loadBalancer: 'clusterIP',
  changed: new Map(),
  current: new Set(),
  later: new Set(),
};
