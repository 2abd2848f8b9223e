import type { Digest } from '#bundles/digest';
import { GENESIS } from '#bundles/formats/events/event';
import type { JudgedReport } from './judge-report.ts';

/** A stored event within a report's range, or next to it. */
export type StoredLink = { readonly seq: number; readonly hash: Digest; readonly prev: Digest };

export type Comparison =
  | { readonly kind: 'fits'; readonly known: ReadonlySet<number> }
  | { readonly kind: 'contradicts'; readonly seq: number; readonly message: string };

/**
 * Compares a report with the stored events. Equal events are known, and missing events before or after the report are a gap,
 * which is allowed. Two different events with one number, or a hash that does not link to its neighbour, contradict: the agent
 * has two histories.
 */
export const compareChain = (report: JudgedReport, stored: readonly StoredLink[]): Comparison => {
  const { from, to, firstPrev, lastHash } = report.predicate;
  if (from === 1 && firstPrev !== GENESIS) return contradicts(1, 'names an event before its first');
  const known = new Set<number>();
  for (const { seq, hash, prev } of stored) {
    if (seq === from - 1 && hash !== firstPrev) return contradicts(from, 'does not follow the one before it');
    if (seq === to + 1 && prev !== lastHash) return contradicts(to, 'is not the one that the next follows');
    if (seq < from || seq > to) continue;
    if (hash !== report.hashes[seq - from]) return contradicts(seq, 'is another than the one already stored');
    known.add(seq);
  }
  return { kind: 'fits', known };
};

const contradicts = (seq: number, why: string): Comparison => ({
  kind: 'contradicts',
  seq,
  message: `event ${seq} ${why}`,
});
