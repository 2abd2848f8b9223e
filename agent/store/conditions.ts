import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import type { State } from './state.ts';

/** A break-glass override: an operator imported expired statements. Shown until the next regular release. */
export type BrokenGlass = {
  readonly operator: string;
  readonly reason: string;
  readonly at: Timestamp;
  /** Version of the release that was in force then. */
  readonly release: number | null;
  /** The expired statements that were accepted. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
};

/** A set of parts of which only some volumes have been imported; their blobs wait in the store. */
export type WaitingForParts = {
  readonly set: Digest;
  readonly count: number;
  /** Numbers of the parts that are still needed. */
  readonly missing: readonly number[];
  readonly since: Timestamp;
  /** Blobs of the set that this agent needs, present or not; they stay pinned. */
  readonly blobs: readonly Digest[];
};

/** An operator keeps this machine as it is. */
export type SiteHold = {
  readonly since: Timestamp;
  /** null: until it is released. */
  readonly until: Timestamp | null;
  /** Of a hold for a duration: its end in milliseconds since that boot. */
  readonly timer?: { readonly bootId: string; readonly endsMs: number };
  readonly operator: string;
  readonly reason: string;
};

type Conditions = {
  /** Reported staleness that has not ended. */
  readonly stale: { readonly since: Timestamp };
  readonly glass: BrokenGlass;
  readonly held: SiteHold;
  /** Size of the outbox after its last compaction. */
  readonly compacted: { readonly bytes: number };
  readonly parts: WaitingForParts;
  /** The boot in which files of secrets were last restored. */
  readonly boot: { readonly id: string };
};

/** Reads a lasting condition of the agent that is recorded nowhere else. Returns undefined if it does not hold. */
export const readCondition = <Name extends keyof Conditions>(
  { db }: State,
  name: Name,
): Conditions[Name] | undefined => {
  const row = db.prepare('SELECT value FROM condition WHERE name = ?').get(name) as
    | { readonly value: string }
    | undefined;
  return row && (JSON.parse(row.value) as Conditions[Name]);
};

export const saveCondition = <Name extends keyof Conditions>(
  { db }: State,
  name: Name,
  value: Conditions[Name] | undefined,
): void => {
  if (value) db.prepare('INSERT OR REPLACE INTO condition VALUES (?, ?)').run(name, JSON.stringify(value));
  else db.prepare('DELETE FROM condition WHERE name = ?').run(name);
};
