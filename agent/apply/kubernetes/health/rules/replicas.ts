import { numberOf } from '../live-field.ts';
import { inProgress, type Verdict } from '../verdict.ts';

/** Numbers of `status`. The API omits zeros, so an absent number is 0. */
export const countOf = (object: unknown, field: string): number => numberOf(object, 'status', field) ?? 0;

/** `spec.replicas`, 1 by default. */
export const replicasOf = (object: unknown): number => numberOf(object, 'spec', 'replicas') ?? 1;

/** Workload controllers always set observedGeneration; without it they have not processed the object yet. */
export const unseen = (object: unknown): Verdict | undefined =>
  numberOf(object, 'status', 'observedGeneration') === undefined
    ? inProgress('its controller has not looked at it yet')
    : undefined;

/** '1 of 3 replicas available' if fewer than desired. */
export const fewer = (have: number, want: number, what: string): Verdict | undefined =>
  have < want ? inProgress(`${have} of ${want} ${want === 1 ? 'replica' : 'replicas'} ${what}`) : undefined;

export const surplus = (have: number, want: number): Verdict | undefined =>
  have > want
    ? inProgress(`${have - want} old ${have - want === 1 ? 'pod is' : 'pods are'} still there`)
    : undefined;
