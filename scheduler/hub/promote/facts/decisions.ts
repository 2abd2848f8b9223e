import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import { type AuditEntry, type PartOf, rejectionOf } from '../../../load/releases/audit-log.ts';

/** An entry of the audit log, as the gate reads it. */
export type GateEntry = PartOf<AuditEntry, 'kind' | 'at' | 'payload' | 'predicate' | 'signer'>;

export type CountedApproval = {
  readonly payload: Digest;
  readonly person: string;
  readonly signer: string;
  readonly at: Timestamp;
  /** As signed: what changes elsewhere it does not approve. undefined: it approves everything. */
  readonly workspaces?: readonly string[];
};

/** Decisions of people and rules about one candidate at one link. */
export type Decisions = {
  /** One for each key, its newest. */
  readonly approvals: readonly CountedApproval[];
  /** Person, time and reason, as text. */
  readonly rejected: string | undefined;
  readonly paused: string | undefined;
  /** `now`: the newest promotion to the environment is of this candidate. `before`: another one came after it. */
  readonly promoted: 'now' | 'before' | undefined;
};

export type FoldedLink = {
  /** A promotion belongs to its link: one from another environment is not one from here. undefined: from any. */
  readonly from?: string;
  readonly to: string;
  readonly shared: Digest;
};

/**
 * Folds the audit log into the decisions about a candidate. The order of entries decides, never their times: a pause holds until
 * a later resume, a rejection is final, a later approval by the same key replaces its earlier one.
 */
export const foldDecisions = (entries: readonly GateEntry[], { from, to, shared }: FoldedLink): Decisions => {
  const approvals = new Map<string, CountedApproval>();
  const rejected = rejectionOf(entries, to, shared);
  let promoted: Decisions['promoted'];
  for (const { kind, predicate, payload, signer, at } of entries) {
    switch (kind) {
      case 'approval':
        if (
          predicate.to === to &&
          predicate.shared === shared &&
          predicate.stage === undefined &&
          predicate.about === undefined
        ) {
          const { person, workspaces } = predicate;
          approvals.set(signer, defined({ payload, person, signer, at, workspaces }));
        }
        break;
      case 'promotion':
        if (predicate.to === to)
          promoted = promotedAfter(
            promoted,
            predicate.shared === shared && (from === undefined || predicate.from === from),
          );
        break;
      case 'decision':
      case 'change':
        break;
    }
  }
  return { paused: pauseOf(entries, to), promoted, rejected, approvals: [...approvals.values()] };
};

const promotedAfter = (before: Decisions['promoted'], isThis: boolean): Decisions['promoted'] => {
  if (isThis) return 'now';
  return before === undefined ? undefined : 'before';
};

/** The pause of an environment: person, time and reason; undefined without one, or after a resume. */
export const pauseOf = (
  entries: readonly PartOf<AuditEntry, 'kind' | 'predicate'>[],
  environment: string,
): string | undefined => {
  for (const { kind, predicate } of entries.toReversed()) {
    if (kind !== 'decision' || predicate.environment !== environment) continue;
    const { decision, only, stage, plan, person, time, reason } = predicate;
    if (only !== undefined || stage !== undefined || plan !== undefined) continue;
    if (decision === 'resume') return undefined;
    if (decision === 'pause') return `paused by ${person ?? 'a rule'} at ${time}: ${reason}`;
  }
  return undefined;
};
