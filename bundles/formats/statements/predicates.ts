import type { BundlePredicate } from '../../schemas/types/bundle-predicate.ts';
import type { DecisionPredicate } from '../../schemas/types/decision-predicate.ts';
import type { ReleasePredicate } from '../../schemas/types/release-predicate.ts';
import type { ReportPredicate } from '../../schemas/types/report-predicate.ts';
import type { SitePredicate } from '../../schemas/types/site-predicate.ts';
import type { SiteValues } from '../../schemas/types/site-values.ts';

/** Predicates of our statements (docs/bundle-format.md section 7), as their schemas say. */
export type { ApprovalPredicate } from '../../schemas/types/approval-predicate.ts';
export type { AuditPredicate } from '../../schemas/types/audit-predicate.ts';
export type { BundlePredicate } from '../../schemas/types/bundle-predicate.ts';
export type { ChangePredicate } from '../../schemas/types/change-predicate.ts';
export type { DecisionPredicate } from '../../schemas/types/decision-predicate.ts';
export type { LeasePredicate } from '../../schemas/types/lease-predicate.ts';
export type { PromotionPredicate } from '../../schemas/types/promotion-predicate.ts';
export type { ReceiptPredicate } from '../../schemas/types/receipt-predicate.ts';
export type { ReleasePredicate } from '../../schemas/types/release-predicate.ts';
export type { ReportPredicate } from '../../schemas/types/report-predicate.ts';
export type { Revocations } from '../../schemas/types/revocations.ts';
export type { SitePredicate } from '../../schemas/types/site-predicate.ts';
export type { SiteValues } from '../../schemas/types/site-values.ts';
export type { SupportPredicate } from '../../schemas/types/support-predicate.ts';

/** Values of one agent that the hub composed from layers of configuration. */
export type ComposedValues = NonNullable<SiteValues['composed']>[string];

export type Audience = ReleasePredicate['audience'];

export type CandidateSource = BundlePredicate['sources'][number];

/**
 * Which agents a release reaches: the agents of the term, and those of each term in `also`. Readers that do not know `also`
 * ignore it, so they are selected late and never early.
 */
export type Rollout = ReleasePredicate['rollout'];

/** Agents with all labels of the selector whose bucket (0 to 99, the hash of their name) is below the percentage. */
export type RolloutTerm = NonNullable<Rollout['also']>[number];

export type SiteAgent = SitePredicate['agents'][number];

/** A request for one support bundle. An agent answers an id once, and none after `until`. */
export type SupportRequest = NonNullable<SiteAgent['support']>;

/** Entry of `critical` in approvals that are limited to workspaces: older readers would count them for everything. */
export const APPROVAL_WORKSPACES = 'approvalWorkspaces';
/** In `critical` of an approval of values of sites: older readers would count it for an environment. */
export const APPROVAL_SITE_VALUES = 'approvalSiteValues';

export type DecisionKind = DecisionPredicate['decision'];

/** Lower bounds of an agent: it rejects versions and times below them. */
export type Floors = ReportPredicate['floors'];

/** How current the verdicts of an agent are. */
export type ReportedLooks = NonNullable<ReportPredicate['looks']>;
