import type { Clock } from '../watch/clock.ts';

export type LeaseOptions = {
  readonly namespace: string;
  /** 'fleet-agent-acme' */
  readonly name: string;
  /** Identity of this holder, unique among living processes: 'lyon-1/main, process 4711 on box7, 9f3c21aa…'. */
  readonly holder: string;
  /** Suffix of earlier holders that are known to have ended, because we hold their lock; undefined: none. */
  readonly place?: string | undefined;
  /** Time without renewal after which another agent may take the lease; whole seconds, in milliseconds. */
  readonly durationMs: number;
  readonly renewMs: number;
  /** Time without renewal after which work stops. Less than `durationMs`, so that two agents never work at once. */
  readonly deadlineMs: number;
  /** How long to wait for another holder. */
  readonly waitMs: number;
  readonly clock: Clock;
};

/** Identity of the agent and namespace of the lease. */
export type Contender = {
  readonly namespace: string;
  /** 'lyon-1/main, process 4711 on box7' */
  readonly who: string;
  /** The place of the state directory (agent/store/place.ts) while this process holds its lock. */
  readonly place: () => string | undefined;
};

/** Defaults of client-go's leader election. */
export const LEASE_TIMES = { durationMs: 15_000, renewMs: 5000, deadlineMs: 10_000, waitMs: 5000 } as const;
