import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import type { State } from './state.ts';

/** A person has imported what had ended; shown until the next regular release. */
export type BrokenGlass = {
  readonly operator: string;
  readonly reason: string;
  readonly at: Timestamp;
  /** Version of the release that was in force then. */
  readonly release: number | null;
  /** What had ended. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
};

/** A set of parts whose sticks come one after the other: what of it is here waits in the store. */
export type WaitingForParts = {
  readonly set: Digest;
  readonly count: number;
  /** Numbers of the parts that something is needed from. */
  readonly missing: readonly number[];
  readonly since: Timestamp;
  /** What of it this agent needs, here or still to come: it stays pinned. */
  readonly blobs: readonly Digest[];
};

type Conditions = {
  /** The staleness that was told of, and whose end was not. */
  readonly stale: { readonly since: Timestamp };
  readonly glass: BrokenGlass;
  readonly parts: WaitingForParts;
  /** The boot in which files of secrets were last looked after. */
  readonly boot: { readonly id: string };
};

/** Lasting conditions of an agent that nothing else it keeps would tell. undefined: it does not hold. */
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
