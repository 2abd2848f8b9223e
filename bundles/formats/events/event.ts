import { canonicalJson } from '../../json/canonical.ts';
import { type Digest, digestOf } from '../../digest.ts';
import type { Event } from '../../schemas/types/event.ts';

/** One event at a site. Events form a chain: `prev` is the hash of the previous one (docs/bundle-format.md section 9). */
export type { Event } from '../../schemas/types/event.ts';

/** The outcomes in logs, reports and tables. Fixed: stored events contain them. */
export type Outcome = NonNullable<Event['outcome']>;

/** `prev` of the first event of an agent. */
export const GENESIS: Digest = `sha256:${'0'.repeat(64)}`;

/** Longest line that readers take. They refuse a report with a longer one, and with it all that came later. */
export const MAX_EVENT_BYTES = 64 << 10;

/** One line of the NDJSON blob, without its line feed. */
export const encodeEvent = (event: Event): string => canonicalJson(event);

/** Hash of the bytes of a line: `prev` of the next event. */
export const hashLine = (line: string): Digest => digestOf(line);
