import { type Digest, isDigest } from '../../digest.ts';
import type { Event } from './event.ts';

/** Type of an event that stands for a run of events that the agent dropped (docs/bundle-format.md section 9). */
export const COMPACTED = 'compacted';

/** How many dropped events were of one type and outcome, of one assignment unless the list became too long. */
export type DroppedCount = {
  readonly assignment?: string;
  readonly type: string;
  readonly outcome?: string;
  readonly code?: string;
  readonly events: number;
};

/** `detail` of a compacted event: it stands for the events from its own `seq` to `to`. */
export type CompactedDetail = {
  readonly to: number;
  /** Hash of event `to`, which the next event names as `prev`. */
  readonly lastHash: Digest;
  readonly counts: readonly DroppedCount[];
};

/** One line's place in the chain: the events `seq` to `to`, the hash before them and the hash of the last. */
export type Span = {
  readonly seq: number;
  readonly to: number;
  readonly prev: Digest;
  readonly hash: Digest;
};

/** The span of a compacted event; undefined if its detail does not say which. */
export const compactedSpan = ({
  seq,
  prev,
  detail,
}: Pick<Event, 'seq' | 'prev' | 'detail'>): Span | undefined => {
  const { to, lastHash } = detail ?? {};
  return typeof to === 'number' && Number.isSafeInteger(to) && to >= seq && isDigest(lastHash)
    ? { seq, to, prev, hash: lastHash }
    : undefined;
};
