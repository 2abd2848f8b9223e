import type { LiveObject } from '../api/kubernetes-api.ts';
import { numberOf, textOf } from '../health/live-field.ts';
import type { LeaseOptions } from './lease-options.ts';

export const LEASE_TYPE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' } as const;

/** What a lease says, as far as it matters to the next holder. */
export type LeaseRecord = {
  /** '' when nobody has it. */
  readonly holder: string;
  readonly since: string | undefined;
  /** How long its holder asked others to wait, bounded: a slip of the pen must not lock a cluster for ever. */
  readonly durationMs: number;
  readonly transitions: number;
  readonly resourceVersion: string | undefined;
};

const LONGEST_MS = 120_000;

export const readRecord = (lease: LiveObject): LeaseRecord => ({
  holder: textOf(lease, 'spec', 'holderIdentity') ?? '',
  since: textOf(lease, 'spec', 'acquireTime'),
  durationMs: Math.min(Math.max(1, numberOf(lease, 'spec', 'leaseDurationSeconds') ?? 1) * 1000, LONGEST_MS),
  transitions: numberOf(lease, 'spec', 'leaseTransitions') ?? 0,
  resourceVersion: lease.metadata.resourceVersion,
});

/** The lease as its new holder writes it, over what was there. */
export const takenBy = (
  { holder, namespace, name, durationMs, clock }: LeaseOptions,
  before: LeaseRecord | undefined,
): LiveObject => {
  const now = microTime(clock.now());
  return leaseObject(namespace, name, before?.resourceVersion, {
    holderIdentity: holder,
    leaseDurationSeconds: Math.ceil(durationMs / 1000),
    acquireTime: now,
    renewTime: now,
    leaseTransitions: before ? before.transitions + 1 : 0,
  });
};

/** The same lease, alive. */
export const renewed = (lease: LiveObject, now: Date): LiveObject => ({
  ...lease,
  spec: { ...(lease['spec'] as object), renewTime: microTime(now) },
});

/**
 * Returns the lease without a holder, so that the next holder need not wait. The API server refuses an empty holder, so the
 * field is left out.
 */
export const released = (lease: LiveObject, now: Date): LiveObject => {
  const { namespace = '', name, resourceVersion } = lease.metadata;
  const { transitions } = readRecord(lease);
  const spec = { leaseDurationSeconds: 1, renewTime: microTime(now), leaseTransitions: transitions };
  return leaseObject(namespace, name, resourceVersion, spec);
};

const leaseObject = (
  namespace: string,
  name: string,
  resourceVersion: string | undefined,
  spec: object,
): LiveObject => ({
  ...LEASE_TYPE,
  metadata: { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) },
  spec,
});

/** Six digits of a second, no fewer: the API takes nothing else. */
const microTime = (now: Date): string => now.toISOString().replace('Z', '000Z');
