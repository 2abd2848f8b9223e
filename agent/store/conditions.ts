import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import type { RebootCause } from '../model/machine.ts';
import type { Moment } from './last-look.ts';
import type { State } from './state.ts';

/** A break-glass override: an operator imported expired statements. Shown until the next regular release. */
export type BreakGlassImport = {
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

/** A reboot is required. The causes are those of the last look; `since` is when the first of them was seen. */
export type RebootRequired = {
  readonly since: Timestamp;
  readonly causes: readonly RebootCause[];
  /** Obstacle, as one sentence part: 'the window that opens at ...'. */
  readonly waits: string;
  /** When that is over, for a window and a pause; null: not known. */
  readonly next: Timestamp | null;
};

/** A reboot that the agent has decided, on disk before the system is asked for it. It ends when a later boot was judged. */
export type RebootUnderWay = {
  /** The boot that it ends (Machine.boot). */
  readonly boot: string;
  /** The boot after it, and when the first look in it began. */
  readonly next?: { readonly boot: string; readonly sinceMs: number };
  readonly at: Timestamp;
  readonly causes: readonly RebootCause[];
  /** Packages that were not healthy before. */
  readonly unwell: readonly string[];
  /** The refusal of the system that was reported. */
  readonly refused?: string;
};

/** Reboots by the agent until now. */
export type Rebooted = {
  /** Keys of causes for which the agent has rebooted this host, the newest last: it reboots for none of them again. */
  readonly tried: readonly string[];
  readonly last: {
    readonly asked: Timestamp;
    readonly causes: readonly RebootCause[];
    /** When the boot after it was judged; null: not yet. */
    readonly judged: Timestamp | null;
    /** Packages that were not healthy then. */
    readonly unwell: readonly string[];
  };
};

/** `delivered`: the hub has it. Until then its file is kept and handed over again, unchanged. */
export type AnsweredSupport = {
  readonly request: string;
  readonly digest: Digest;
  readonly delivered: boolean;
};

type Conditions = {
  /** Reported staleness that has not ended. */
  readonly stale: { readonly since: Timestamp };
  readonly glass: BreakGlassImport;
  readonly held: SiteHold;
  /** Size of the outbox after its last compaction. */
  readonly compacted: { readonly bytes: number };
  readonly parts: WaitingForParts;
  /** The last support bundle that was made for a request of the office. */
  readonly support: AnsweredSupport;
  /** The boot in which files of secrets were last restored. */
  readonly boot: { readonly id: string };
  readonly reboot: RebootRequired;
  readonly rebooting: RebootUnderWay;
  readonly rebooted: Rebooted;
  /** Units that still use libraries of before an upgrade; absent for none. */
  readonly restarts: { readonly services: readonly string[] };
  /** When the hub last acknowledged a signed report, which says when this agent looked. */
  readonly signed: Moment;
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
