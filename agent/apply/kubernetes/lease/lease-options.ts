import type { Clock } from '../watch/clock.ts';

export type LeaseOptions = {
  readonly namespace: string;
  /** 'fleet-agent-acme' */
  readonly name: string;
  /** Unlike any other process's that lives, and what a person reads: 'lyon-1/main, process 4711 on box7, 9f3c21aa…'. */
  readonly holder: string;
  /** The end of the holders that are dead or done for sure, as the lock is ours that they had; undefined: nobody is. */
  readonly place?: string | undefined;
  /** Another one may take it over when it saw no renewal for so long; whole seconds. */
  readonly durationMs: number;
  readonly renewMs: number;
  /** Work stops when no renewal succeeded for so long: before `durationMs`, so that there are never two. */
  readonly deadlineMs: number;
  /** How long to wait for another one that is alive. */
  readonly waitMs: number;
  readonly clock: Clock;
};

/** Who wants the lease, and where it is. */
export type Contender = {
  readonly namespace: string;
  /** 'lyon-1/main, process 4711 on box7' */
  readonly who: string;
  /** The place (agent/store/place.ts) of the state directory while this process has it locked. */
  readonly place: () => string | undefined;
};

/** The times of client-go's leader election. */
export const LEASE_TIMES = { durationMs: 15_000, renewMs: 5000, deadlineMs: 10_000, waitMs: 5000 } as const;
