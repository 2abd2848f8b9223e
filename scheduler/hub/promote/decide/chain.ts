import type { DecisionKind } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { AuditEntry } from '../../../load/releases/audit-log.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import type { Promotion } from '../../../model/promotion.ts';
import type { Assessment } from '../gate/assess.ts';
import type { GateHub } from '../gate/gate-hub.ts';

/** Resources of decisions about the links of a chain: keys, layout, database, and the chain with its policies. */
export type Chain = { readonly hub: GateHub; readonly promotion: Promotion };

/** A person's request about an environment, from the command line or the API. */
export type DecisionRequest = {
  readonly environment: string;
  readonly person: string;
  /** The time in the statement. */
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Time of the first call with this request, if that may have been killed: its signed decision is not repeated. */
  readonly repeats?: Date | undefined;
};

/** Receives the judgement before anything is signed, also if it refuses the request. */
export type OnAssessed = (assessment: Assessment) => void;

/** The layout may be locked by a build. */
export const LOCK_WAIT_MS = 15_000;

/** Index of the entry that an earlier call with this request signed; -1 if there is none. */
export const indexOfRepeated = (
  entries: readonly AuditEntry[],
  {
    person,
    reason,
    repeats,
  }: Pick<DecisionRequest, 'person' | 'repeats'> & { readonly reason: string | null },
  isOf: (entry: AuditEntry) => boolean,
): number => {
  if (repeats === undefined) return -1;
  const since = formatTime(repeats);
  return entries.findLastIndex(
    (entry) =>
      isOf(entry) &&
      entry.predicate.person === person &&
      entry.predicate.reason === reason &&
      entry.predicate.time >= since,
  );
};

/** The decision that an earlier call with this request signed, and the entries after it. */
export const decidedBefore = (
  entries: readonly AuditEntry[],
  decision: DecisionKind,
  request: DecisionRequest & { readonly reason: string },
): { readonly candidate: Lineage | undefined; readonly later: readonly AuditEntry[] } | undefined => {
  const isIt = (entry: AuditEntry): boolean =>
    entry.kind === 'decision' &&
    entry.predicate.decision === decision &&
    entry.predicate.environment === request.environment &&
    entry.predicate.only === undefined;
  const at = indexOfRepeated(entries, request, isIt);
  const entry = entries[at];
  if (entry?.kind !== 'decision') return undefined;
  const { candidate, predicate } = entry;
  const { shared } = predicate;
  return {
    candidate: candidate === undefined || shared === undefined ? undefined : { candidate, shared },
    later: entries.slice(at + 1),
  };
};
