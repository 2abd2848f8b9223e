import type { SchedulerConfig } from '#bundles/schemas/types/scheduler-config';
import type { PromotionPolicy } from '../model/promotion.ts';

/** How many people approve a change of values of sites: as the approvals of a PromotionPolicy. */
export type ValuesReview = {
  /** Of values whose role has no entry; undefined: they need no approval. */
  readonly approvals: Approvals | undefined;
  /** By the `editableBy` of the site input. */
  readonly roles: Readonly<Record<string, Approvals>>;
};

type Approvals = NonNullable<PromotionPolicy['approvals']>;
type Said = NonNullable<SchedulerConfig['siteValues']>;

export const readValuesReview = ({ approvals, roles = {} }: Said): ValuesReview => ({
  approvals: approvals && toApprovals(approvals),
  roles: Object.fromEntries(Object.entries(roles).map(([role, one]) => [role, toApprovals(one)])),
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
