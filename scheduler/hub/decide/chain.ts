import { formatTime } from '#bundles/time';
import type { AuditEntry } from '../../load/releases/audit-log.ts';
import type { Lineage } from '../../load/releases/read-lineage.ts';
import type { Promotion } from '../../model/promotion.ts';
import type { Assessment, GateHub } from '../gate/assess.ts';

/** What decisions about the links of a chain read and write: keys, layout, database, and the chain with its policies. */
export type Chain = { readonly hub: GateHub; readonly promotion: Promotion };

/** A person's wish about an environment, from the command line or the API. */
export type Wish = {
  readonly environment: string;
  readonly person: string;
  /** The time in the statement. */
  readonly now: Date;
  readonly signal: AbortSignal;
  /** An earlier call with this wish and this time may have been killed: what it signed is not decided again. */
  readonly isRepeat?: boolean;
};

/** Receives the judgement before anything is signed, also if it refuses the wish. */
export type OnAssessed = (assessment: Assessment) => void;

/** The layout may be locked by a build. */
export const LOCK_WAIT_MS = 15_000;

/** Index of the entry that an earlier call with this wish signed; -1 if there is none. */
export const indexOfRepeated = (
  entries: readonly AuditEntry[],
  {
    person,
    reason,
    now,
    isRepeat = false,
  }: Omit<Wish, 'environment' | 'signal'> & { readonly reason: string | null },
  isOf: (entry: AuditEntry) => boolean,
): number => {
  const time = formatTime(now);
  return entries.findLastIndex(
    (entry) =>
      isRepeat &&
      isOf(entry) &&
      entry.predicate.person === person &&
      entry.predicate.reason === reason &&
      entry.predicate.time === time,
  );
};

/** The decision about a candidate that the call which is repeated has signed, and the entries after it. */
export const decidedBefore = (
  entries: readonly AuditEntry[],
  decision: 'reject' | 'roll-back',
  wish: Wish & { readonly reason: string },
): { readonly candidate: Lineage; readonly later: readonly AuditEntry[] } | undefined => {
  const isIt = (entry: AuditEntry): boolean =>
    entry.kind === 'decision' &&
    entry.predicate.decision === decision &&
    entry.predicate.environment === wish.environment;
  const at = indexOfRepeated(entries, wish, isIt);
  const entry = entries[at];
  if (entry?.kind !== 'decision' || entry.candidate === undefined) return undefined;
  const { candidate, predicate } = entry;
  const { shared } = predicate;
  return shared === undefined
    ? undefined
    : { candidate: { candidate, shared }, later: entries.slice(at + 1) };
};
