import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/formats/events/event';
import type { Step } from '../../model/target.ts';
import type { FieldSet } from './live/field-set.ts';
import { asJson } from './owned-state.ts';

export type ApplyDetail = {
  readonly apiVersion: string;
  /** resourceVersion of the object at the time of the plan; null: no object, or one that is terminating. */
  readonly resourceVersion: string | null;
  /** uid of a terminating object that must be gone first. */
  readonly awaits: string | null;
  /** uid of an object to delete first, because an immutable field changes. */
  readonly replaces: string | null;
  /** True if fields of other managers are taken over first, so that those which the package does not have are removed. */
  readonly migrates: boolean;
  readonly adopts: boolean;
  /** Field managers of tools that deployed an adopted object: their fields are taken over first. Absent in plans of older agents. */
  readonly strips?: readonly string[];
  /** Name of the copy to make of an adopted object before the first write. Absent in plans of older agents. */
  readonly copy?: Digest;
  /** Fields to take back first, so that they are removed: we wrote them, and the package no longer has them. */
  readonly takes?: FieldSet;
  /** Fields that keep their live values, because the server does not let them go back (kept-fields.ts). */
  readonly keeps?: readonly string[];
  /** True if an autoscaler sets its replicas, which are left out. */
  readonly autoscaled?: true;
  /** Replicas that stay, because the package hands them to an autoscaler that has not set them yet. */
  readonly replicas?: number;
};

export type RemovalDetail = {
  readonly apiVersion: string;
  readonly uid: string;
  /** resourceVersion at the time of the plan, if the object may be deleted in that version without another read. */
  readonly resourceVersion?: string;
  /** The owner mark that the object must have; otherwise the step leaves it alone. */
  readonly assignment: string;
  /** OwnedState. */
  readonly by?: string;
};

export type PutBackDetail = Omit<RemovalDetail, 'uid' | 'resourceVersion'> & { readonly copy: Digest };

/** All kinds of steps of this target. 'note' is listed and does nothing. Steps never hold content. */
export type KubernetesStep =
  | { readonly kind: 'note'; readonly detail: object }
  | { readonly kind: 'apply'; readonly detail: ApplyDetail }
  /** Waits until the objects of these keys are healthy. */
  | { readonly kind: 'await'; readonly detail: { readonly keys: readonly string[] } }
  | { readonly kind: 'remove'; readonly detail: RemovalDetail }
  | { readonly kind: 'detach'; readonly detail: RemovalDetail }
  | { readonly kind: 'put-back'; readonly detail: PutBackDetail };

export const toStep = (
  key: string,
  outcome: Outcome,
  reason: string,
  step: KubernetesStep,
  group?: number,
): Step =>
  defined({
    key,
    kind: step.kind,
    outcome,
    reason,
    detail: asJson(step.detail),
    group,
    mayWait: step.kind === 'apply' ? true : undefined,
    isBarrier: step.kind === 'await' ? true : undefined,
    removal: REMOVALS.has(step.kind) ? true : undefined,
  });

const REMOVALS: ReadonlySet<string> = new Set(['remove', 'detach', 'put-back']);

export const note = (key: string, outcome: 'unchanged' | 'skipped', reason: string, group: number): Step =>
  toStep(key, outcome, reason, { kind: 'note', detail: {} }, group);

/** Steps come from our own plan or journal, so their shape is trusted. */
export const fromStep = (step: Step): KubernetesStep => step as unknown as KubernetesStep;
