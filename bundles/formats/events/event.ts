import { canonicalJson, type Json } from '../../json/canonical.ts';
import { type Digest, digestOf } from '../../digest.ts';
import type { Channel } from '../../names.ts';
import type { Timestamp } from '../../time.ts';

/** The outcomes in logs, reports and tables. Fixed: stored events contain them. */
export type Outcome = 'created' | 'configured' | 'unchanged' | 'deleted' | 'skipped' | 'failed';

/** One event at a site. Events form a chain: `prev` is the hash of the previous one (docs/bundle-format.md section 9). */
export type Event = {
  /** '<site>/<agent>' */
  readonly agent: string;
  /** From 1, without gaps. */
  readonly seq: number;
  readonly prev: Digest;
  readonly bootId: string;
  /** Time of the wall clock, which may be wrong. */
  readonly at: Timestamp;
  /** Milliseconds since boot: gives order and intervals when the wall clock is wrong. */
  readonly monotonicMs: number;
  /** enrolled, imported, refused, package, drift, check, rolled-back, receipt, compacted, operator ... */
  readonly type: string;
  readonly assignment?: string;
  readonly package?: Digest;
  readonly siteValues?: Digest;
  readonly release?: Channel & { readonly version: number };
  readonly outcome?: Outcome;
  /** Error code of a refusal or failure. */
  readonly code?: string;
  readonly message?: string;
  readonly detail?: { readonly [key: string]: Json };
};

/** `prev` of the first event of an agent. */
export const GENESIS: Digest = `sha256:${'0'.repeat(64)}`;

/** One line of the NDJSON blob, without its line feed. */
export const encodeEvent = (event: Event): string => canonicalJson(event);

/** Hash of the bytes of a line: `prev` of the next event. */
export const hashLine = (line: string): Digest => digestOf(line);
