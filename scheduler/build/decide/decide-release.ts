import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Revoked } from '../../load/releases/revocation-list.ts';
import { judgeLineage } from '../../release/chain/judge-lineage.ts';
import type { BuildLineage } from '../../release/chain/open-chain.ts';
import { type Comparison, judgeBundle, type Judgement } from '../../release/removals/judge-bundle.ts';
import type { Removal } from '../../release/removals/removal.ts';
import type { Allowance } from '../../settings/allowance.ts';

/** All that the decision about one channel depends on. */
export type ReleaseFacts = {
  /** The revocation of the bundle; it is not compared then. */
  readonly revoked: Revoked | undefined;
  readonly comparison: Comparison;
  readonly allowance: Allowance;
  /** The channel's newest release is one that no agent can read. */
  readonly isUnread: boolean;
  /** No release before it can be read either, although there were some: what sites run is unknown. */
  readonly isBaseLost: boolean;
  /** A held assignment has no package in the bundle. */
  readonly isIncomplete: boolean;
  /** The bundle statement will name held assignments. */
  readonly isHolding: boolean;
  /** Only rollbacks of single assignments, begun or ended, changed the bundle. */
  readonly isOnlyRolledBack: boolean;
  /** The chain's entry in the bundle statement; undefined in a platform without a chain. */
  readonly lineage: BuildLineage | undefined;
  /** The newest statement about the channel's release; undefined without one. */
  readonly stated:
    | (NonNullable<Parameters<typeof judgeLineage>[2]> & { readonly siteLayers?: Digest })
    | undefined;
  /** Digest of the layers that select sites; undefined without any. */
  readonly siteLayers: Digest | undefined;
  /** ROLLOUT_TAKEN_BACK or ROLLED_BACK: people took the channel back from this bundle. Read only for a bundle that would be released. */
  readonly takenBack: FleetError | undefined;
};

/** The act of a build on one channel. */
export type Decision =
  /** Sign and release the bundle, or store it until the signatures of others are there. */
  | { readonly kind: 'release'; readonly isDirect: boolean }
  /** The channel has this bundle. */
  | { readonly kind: 'keep' }
  /** The channel has this bundle, and another candidate gave it again: only its statement is signed. */
  | { readonly kind: 'restate' }
  /** The channel has no release, and the bundle no packages. */
  | { readonly kind: 'empty' }
  /** A package that is only held would be removed. */
  | { readonly kind: 'blocked' }
  /** Packages or objects would be removed although nobody declared that, and the last release cannot supply them. */
  | { readonly kind: 'removals-held'; readonly unmeant: readonly Removal[] }
  /** The bundle was withdrawn. */
  | { readonly kind: 'revoked'; readonly revoked: Revoked }
  /** The bundle changed without a promotion, and the policy of the link forbids that. */
  | { readonly kind: 'direct-held' }
  /** The rollout of the bundle, or the channel, was taken back and not resumed. */
  | { readonly kind: 'taken-back'; readonly error: FleetError; readonly isDirect: boolean };

/** Decides what a build does with one channel. Pure. */
export const decideRelease = (facts: ReleaseFacts): Decision => {
  const { revoked, lineage, stated, isHolding, isOnlyRolledBack, takenBack } = facts;
  if (revoked) return { kind: 'revoked', revoked };
  const { outcome: content, undeclared: unmeant } = judgeContent(facts);
  const chain = isOnlyRolledBack ? undefined : lineage;
  const { outcome, direct } = judgeLineage(content, chain, chain && stated, isHolding);
  const isDirect = direct === true;
  switch (outcome) {
    case 'released':
      return takenBack ? { kind: 'taken-back', error: takenBack, isDirect } : { kind: 'release', isDirect };
    case 'restated':
      return { kind: 'restate' };
    case 'unchanged':
      return judgeLayers(facts);
    case 'removals-held':
      return { kind: outcome, unmeant };
    case 'direct-held':
    case 'blocked':
    case 'empty':
      return { kind: outcome };
  }
};

/** The bundle stays; a statement names the layers that select sites, so that the hub composes only what was signed. */
const judgeLayers = ({ siteLayers, stated, lineage }: ReleaseFacts): Decision => {
  if (stated?.siteLayers === siteLayers) return { kind: 'keep' };
  const isDirect = lineage?.promoted !== undefined && stated?.promoted === lineage.promoted;
  return { kind: isDirect && lineage.direct === 'forbid' ? 'direct-held' : 'restate' };
};

/**
 * The decision by the content of the bundle alone. A release that no agent can read is replaced, also by the bundle of the one before. If
 * earlier ones are lost, nothing may be missing.
 */
export const judgeContent = (
  facts: Pick<ReleaseFacts, 'comparison' | 'allowance' | 'isUnread' | 'isBaseLost' | 'isIncomplete'>,
): Judgement => {
  const { comparison, allowance, isUnread, isBaseLost, isIncomplete } = facts;
  const judged = judgeBundle(comparison, allowance);
  if (isBaseLost && isIncomplete) return { ...judged, outcome: 'blocked' };
  return isUnread && judged.outcome === 'unchanged' ? { ...judged, outcome: 'released' } : judged;
};
