import { canonicalJson, type Json } from '../canonical.ts';
import { type Digest, digestOf } from '../digest.ts';
import type { Channel } from '../names.ts';
import type { Timestamp } from '../time.ts';

/** The outcome words, fixed for ever: logs, reports and tables all use them. */
export type Outcome = 'created' | 'configured' | 'unchanged' | 'deleted' | 'skipped' | 'failed';

/** One thing that happened at a site. Chained: `prev` is the hash of the event before (docs/bundle-format.md section 9). */
export type Event = {
  /** '<site>/<agent>' */
  readonly agent: string;
  /** From 1, without gaps. */
  readonly seq: number;
  readonly prev: Digest;
  readonly bootId: string;
  /** The wall clock as it stood, right or wrong. */
  readonly at: Timestamp;
  /** Milliseconds since this boot: order and distance survive a wrong clock. */
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

/** The hash that the next event names as `prev`: over exactly the bytes of the line. */
export const hashLine = (line: string): Digest => digestOf(line);
