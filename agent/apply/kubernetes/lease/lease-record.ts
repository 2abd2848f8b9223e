import { defined } from '#bundles/defined';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { numberOf, textOf } from '../health/live-field.ts';
import type { LeaseOptions } from './lease-options.ts';

export const LEASE_TYPE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

export const leaseName = (fleet: string): string => `fleet-agent-${fleet}`;

/** The fields of a lease that matter to the next holder. */
export type LeaseRecord = {
  /** '' without a holder. */
  readonly holder: string;
  readonly since: string | undefined;
  /** The duration that the holder requested, bounded, so that a wrong value does not lock a cluster forever. */
  readonly durationMs: number;
  readonly transitions: number;
  readonly resourceVersion: string | undefined;
};

/** Names the agent that took the lease last, also after it was given back: the one that shows itself on the cluster. */
const LAST_HOLDER = 'fleet-ferry/last-holder';

/** 'lyon-1/main' of the holder 'lyon-1/main, process 4711 on box7'. */
export const agentOf = (holder: string): string => holder.split(', ', 1)[0] ?? '';

/** The agent that took the lease last; undefined where nobody has, or an agent from before the annotation. */
export const lastHolder = (lease: LiveObject | undefined): string | undefined =>
  lease?.metadata.annotations?.[LAST_HOLDER];

const MAX_MS = 120_000;

export const readRecord = (lease: LiveObject): LeaseRecord => ({
  holder: textOf(lease, 'spec', 'holderIdentity') ?? '',
  since: textOf(lease, 'spec', 'acquireTime'),
  durationMs: Math.min(Math.max(1, numberOf(lease, 'spec', 'leaseDurationSeconds') ?? 1) * 1000, MAX_MS),
  transitions: numberOf(lease, 'spec', 'leaseTransitions') ?? 0,
  resourceVersion: lease.metadata.resourceVersion,
});

/** The lease of a new holder, with other fields unchanged. */
export const takenBy = (
  { holder, namespace, name, durationMs, clock }: LeaseOptions,
  before: LeaseRecord | undefined,
): LiveObject => {
  const now = microTime(clock.now());
  const metadata = { namespace, name, resourceVersion: before?.resourceVersion };
  return leaseObject(metadata, agentOf(holder), {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: before ? before.transitions + 1 : 0,
  });
};

/** The same lease with a new renewal time. */
export const renewed = (lease: LiveObject, now: Date): LiveObject => ({
  ...lease,
  spec: { ...(lease['spec'] as object), renewTime: microTime(now) },
});

/**
 * Returns the lease without a holder, so that the next holder need not wait. The API server refuses an empty holder, so the
 * field is left out.
 */
export const released = (lease: LiveObject, now: Date): LiveObject => {
  const { transitions } = readRecord(lease);
  const spec = { leaseDurationSeconds: 1, renewTime: microTime(now), leaseTransitions: transitions };
  return leaseObject(lease.metadata, lastHolder(lease), spec);
};

const leaseObject = (
  { namespace, name, resourceVersion }: LiveObject['metadata'],
  last: string | undefined,
  spec: object,
): LiveObject => ({
  ...LEASE_TYPE,
  metadata: defined({
    name,
    namespace,
    resourceVersion,
    annotations: last === undefined ? undefined : { [LAST_HOLDER]: last },
  }),
  spec,
});

/** MicroTime requires six digits for fractions of a second. */
const microTime = (now: Date): string => now.toISOString().replace('Z', '000Z');
