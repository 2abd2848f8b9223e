import type { Digest } from '#bundles/digest';
import { GENESIS } from '#bundles/report/event';
import type { JudgedReport } from './judge-report.ts';

/** What is stored of an agent around and inside a report's range. */
export type StoredLink = { readonly seq: number; readonly hash: Digest; readonly prev: Digest };

export type Comparison =
  | { readonly kind: 'fits'; readonly known: ReadonlySet<number> }
  | { readonly kind: 'contradicts'; readonly seq: number; readonly message: string };

/**
 * Does a report fit the events that are there? Equal events are known, missing ones before or after it are a gap and no
 * mistake; but two events of one number, or a link that does not meet its neighbour, say that an agent told two stories.
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
