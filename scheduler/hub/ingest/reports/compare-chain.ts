import type { Digest } from '#bundles/digest';
import { COMPACTED, type Span } from '#bundles/formats/events/compacted';
import { GENESIS } from '#bundles/formats/events/event';
import type { VerifiedReport } from '#bundles/trust/reports/report';

/** A stored event within a report's range, or next to it; a compacted one covers the events `seq` to `to`. */
export type StoredSpan = Span & {
  readonly compacted: boolean;
  /** Its events were stored once and removed by retention: they are known. */
  readonly removed?: boolean;
};

export type Comparison =
  | ({ readonly kind: 'fits' } & Difference)
  | { readonly kind: 'contradicts'; readonly seq: number; readonly message: string };

export type Difference = {
  /** Numbers of the report's events that are stored already. */
  readonly known: ReadonlySet<number>;
  /** Parts of the report's compacted events that nothing stored covers; `of` is the number of the compacted event. */
  readonly gaps: readonly (Span & { readonly of: number })[];
  /** Stored compacted events that overlap with events of the report, and the remaining spans. */
  readonly opened: readonly { readonly span: Span; readonly rest: readonly Span[] }[];
};

/**
 * Compares a report with the stored events. Equal events are known, and missing events before or after the report are a gap,
 * which is allowed. Two different events with one number, or a hash that does not link to its neighbour, contradict: the agent
 * has two histories. A compacted event has no events of its own to compare: only its ends must agree, and events go before it.
 */
export const compareChain = (
  report: Pick<VerifiedReport, 'predicate' | 'events' | 'spans'>,
  stored: readonly StoredSpan[],
): Comparison => {
  const { from, to, firstPrev, lastHash } = report.predicate;
  if (from === 1 && firstPrev !== GENESIS) return contradicts(1, 'names an event before its first');
  const own = hashesOf(report.spans);
  for (const { seq, to: end, hash, prev } of stored) {
    if (end === from - 1 && hash !== firstPrev) return contradicts(from, 'does not follow the one before it');
    if (seq === to + 1 && prev !== lastHash) return contradicts(to, 'is not the one that the next follows');
    if (differs(own, end, hash)) return contradicts(end, 'is another than the one already stored');
    if (differs(own, seq - 1, prev)) return contradicts(seq, 'is another than the one already stored');
  }
  return { kind: 'fits', ...findDifference(report, stored) };
};

const contradicts = (seq: number, why: string): Comparison => ({
  kind: 'contradicts',
  seq,
  message: `event ${seq} ${why}`,
});

/** Hashes of events by number, as the ends of spans tell them. */
const hashesOf = (spans: readonly Span[]): Map<number, Digest> =>
  new Map(spans.flatMap(({ seq, to, prev, hash }) => [[seq - 1, prev] as const, [to, hash] as const]));

const differs = (hashes: ReadonlyMap<number, Digest>, seq: number, hash: Digest): boolean =>
  hashes.has(seq) && hashes.get(seq) !== hash;

const findDifference = (
  { events, spans }: Pick<VerifiedReport, 'events' | 'spans'>,
  stored: readonly StoredSpan[],
): Difference => {
  const single = new Set(
    stored.filter(({ compacted, removed }) => !compacted && removed !== true).map(({ seq }) => seq),
  );
  const isKnown = (seq: number): boolean =>
    single.has(seq) || stored.some((span) => span.removed === true && seq >= span.seq && seq <= span.to);
  const ordinary = spans.filter((_, index) => events[index]?.type !== COMPACTED);
  const compacted = spans.filter((_, index) => events[index]?.type === COMPACTED);
  const fresh = ordinary.filter(({ seq }) => !isKnown(seq));
  const hashes = new Map([...hashesOf(stored), ...hashesOf(spans)]);
  const gaps = compacted.flatMap((span) =>
    without(span, stored, hashes).map((rest) => ({ ...rest, of: span.seq })),
  );
  const known = new Set([
    ...ordinary.flatMap(({ seq }) => (isKnown(seq) ? [seq] : [])),
    ...compacted.flatMap(({ seq }) => (gaps.some(({ of }) => of === seq) ? [] : [seq])),
  ]);
  const opened = stored
    .filter((span) => span.compacted && fresh.some(({ seq }) => seq >= span.seq && seq <= span.to))
    .map((span) => ({ span, rest: without(span, fresh, hashes) }));
  return { known, gaps, opened };
};

/** Remainder of a span without the events of others. Its new ends are ends of the others, whose hashes are known. */
const without = (
  { seq, to }: Span,
  others: readonly Span[],
  hashes: ReadonlyMap<number, Digest>,
): readonly Span[] => {
  const rest: Span[] = [];
  let next = seq;
  const add = (end: number): void => {
    const [prev, hash] = [hashes.get(next - 1), hashes.get(end)];
    if (end >= next && prev !== undefined && hash !== undefined)
      rest.push({ seq: next, to: end, prev, hash });
  };
  for (const other of others.toSorted((a, b) => a.seq - b.seq)) {
    if (other.to < next || other.seq > to) continue;
    add(other.seq - 1);
    next = other.to + 1;
  }
  add(to);
  return rest;
};
