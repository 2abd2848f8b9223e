import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import type { PromotionPolicy } from '../model/promotion.ts';

/** How many people approve a change of values of sites: as the approvals of a PromotionPolicy. */
export type ValuesReview = {
  /** Of values whose role has no entry; undefined: they need no approval. */
  readonly approvals: Approvals | undefined;
  /** By the `editableBy` of the site input. */
  readonly roles: Readonly<Record<string, Approvals>>;
  /** Where `sites set` decides; absent: at the hub. */
  readonly write?: 'hub' | 'commit' | 'pullRequest';
  /** By environment: whether a change follows the stages of its RolloutPolicy; one without an entry follows the policy. */
  readonly rollout?: Readonly<Record<string, 'stages' | 'atOnce'>>;
  /** Answer to values that people at sites set. Those under a rule become proposals, unless they are refused. */
  readonly localEdits?: 'accept' | 'ask' | 'refuse';
};

type Approvals = NonNullable<PromotionPolicy['approvals']>;
type Said = NonNullable<SchedulerConfig['siteValues']>;

export const readValuesReview = ({
  approvals,
  roles = {},
  rollout = {},
  localEdits = 'ask',
  write = 'hub',
}: Said): ValuesReview => ({
  localEdits,
  approvals: approvals && toApprovals(approvals),
  roles: Object.fromEntries(Object.entries(roles).map(([role, one]) => [role, toApprovals(one)])),
  rollout,
  write,
});

const toApprovals = ({
  required,
  from = [],
  notAuthor = true,
}: NonNullable<Said['approvals']>): Approvals => ({
  required,
  from,
  notAuthor,
});
