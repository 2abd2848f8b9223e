import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/formats/events/event';
import type { Step } from '../../model/target.ts';
import { asJson } from './owned-state.ts';

export type ApplyDetail = {
  readonly apiVersion: string;
  /** Of the object that was there when the plan was made; null: none, or one on its way out. */
  readonly resourceVersion: string | null;
  /** The object on its way out that has to be gone first. */
  readonly awaits: string | null;
  /** Delete this one first: a field of it cannot be changed. */
  readonly replaces: string | null;
  /** Other managers' fields become ours first, so that those the package does not have go away. */
  readonly migrates: boolean;
  readonly adopts: boolean;
  /** Name of the copy that is made first of an object that is taken over. Plans of older agents do not say. */
  readonly copy?: Digest;
};

export type RemovalDetail = {
  readonly apiVersion: string;
  readonly uid: string;
  /** Whose mark it has to bear to be touched at all. */
  readonly assignment: string;
};

export type PutBackDetail = Omit<RemovalDetail, 'uid'> & { readonly copy: Digest };

/** Every kind of step of this target. 'note' is listed and does nothing; content is never in a step. */
export type KubernetesStep =
  | { readonly kind: 'note'; readonly detail: object }
  | { readonly kind: 'apply'; readonly detail: ApplyDetail }
  | { readonly kind: 'remove'; readonly detail: RemovalDetail }
  | { readonly kind: 'detach'; readonly detail: RemovalDetail }
  | { readonly kind: 'put-back'; readonly detail: PutBackDetail };

export const toStep = (
  key: string,
  outcome: Outcome,
  reason: string,
  step: KubernetesStep,
  group: number,
): Step => ({ key, kind: step.kind, outcome, reason, detail: asJson(step.detail), group });

export const note = (key: string, outcome: 'unchanged' | 'skipped', reason: string, group: number): Step =>
  toStep(key, outcome, reason, { kind: 'note', detail: {} }, group);

/** Steps come out of our own plan or journal: their shape is ours. */
export const fromStep = (step: Step): KubernetesStep => step as unknown as KubernetesStep;
