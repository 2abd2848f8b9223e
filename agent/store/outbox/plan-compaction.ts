import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import {
  COMPACTED,
  type CompactedDetail,
  compactedSpan,
  type DroppedCount,
} from '#bundles/formats/events/compacted';
import { type Event, encodeEvent } from '#bundles/formats/events/event';
import type { OutboxLine } from './outbox.ts';

/** Consecutive lines of the outbox, and the one line that replaces them. */
export type Compaction = { readonly from: number; readonly replacement: OutboxLine };

type Entry = OutboxLine & { readonly event: Event };

/**
 * Finds runs of repeated events and makes a `compacted` event for each. All changes and failures are kept; of the repetitions
 * since the last of them, the first and the last for each assignment. The state that follows from the events stays the same.
 * @param lines the unacknowledged events in order
 */
export const planCompaction = (lines: readonly OutboxLine[]): readonly Compaction[] => {
  const entries = lines.map((line) => ({ ...line, event: parseJson(line.line) as Event }));
  const droppable = findRepetitions(entries.map(({ event }) => event));
  const runs: Entry[][] = [];
  for (const [index, entry] of entries.entries()) {
    if (!droppable.has(index)) continue;
    if (droppable.has(index - 1) && index > 0) runs.at(-1)?.push(entry);
    else runs.push([entry]);
  }
  return runs.map(compact).filter((compaction) => compaction !== undefined);
};

/**
 * Indexes of events that may be dropped: events of a kind that also occurs before and after them in the same run of
 * repetitions.
 */
const findRepetitions = (events: readonly Event[]): ReadonlySet<number> => {
  const droppable = new Set<number>();
  /** By assignment: the last change or failure, and the last index of each kind since then. */
  const segments = new Map<
    string,
    { readonly begun: string; readonly last: Map<string, number | undefined> }
  >();
  for (const [index, event] of events.entries()) {
    if (event.type === COMPACTED) {
      droppable.add(index);
      continue;
    }
    const about = event.assignment ?? '';
    const kind = kindOf(event);
    const segment = segments.get(about);
    const repeats = isConfirmation(event) || (event.outcome === 'failed' && segment?.begun === kind);
    if (!segment || !repeats) {
      const begun = isConfirmation(event) ? '' : kind;
      segments.set(about, { begun, last: new Map([[kind, undefined]]) });
      continue;
    }
    const { last } = segment;
    const before = last.get(kind);
    if (before !== undefined) droppable.add(before);
    // The first of its kind has no index here, and so stays.
    last.set(kind, last.has(kind) ? index : undefined);
  }
  return droppable;
};

/** Types whose events confirm a state that an earlier event began, unless they report an error. */
const CONFIRMATIONS: ReadonlySet<string> = new Set(['drift', 'corrected', 'check', 'receipt']);

const isConfirmation = ({ type, outcome, code }: Event): boolean =>
  CONFIRMATIONS.has(type) &&
  outcome !== 'failed' &&
  outcome !== 'skipped' &&
  (code === undefined || code === 'DRIFT');

/** Two events of the same kind say the same, but for time and details. */
const kindOf = (event: Event): string => {
  const { type, outcome, code } = event;
  if (isConfirmation(event)) return canonicalJson([type, outcome ?? null]);
  const { package: digest, siteValues, message } = event;
  return canonicalJson([
    type,
    outcome ?? null,
    code ?? null,
    digest ?? null,
    siteValues ?? null,
    message ?? null,
  ]);
};

/** undefined for a run that would not become shorter. */
const compact = (run: readonly Entry[]): Compaction | undefined => {
  const [first, last] = [run[0], run.at(-1)];
  if (!first || !last || run.length < 2) return undefined;
  const detail = (counts: readonly DroppedCount[]): Event['detail'] =>
    ({ to: last.lastSeq, lastHash: last.hash, counts }) satisfies CompactedDetail;
  const { agent, bootId, at, monotonicMs } = last.event;
  const { seq, prev } = first.event;
  const event = { agent, seq, prev, bootId, at, monotonicMs, type: COMPACTED };
  const counts = countDropped(run);
  const full = encodeEvent({ ...event, detail: detail(counts) });
  const line =
    Buffer.byteLength(full) <= MAX_LINE_BYTES
      ? full
      : encodeEvent({ ...event, detail: detail(withoutAssignments(counts)) });
  const bytes = run.reduce((sum, entry) => sum + Buffer.byteLength(entry.line), 0);
  if (Buffer.byteLength(line) >= bytes) return undefined;
  return { from: seq, replacement: { seq, lastSeq: last.lastSeq, hash: last.hash, line } };
};

/** Below the limit of readers for one line, which is 64 KiB. */
const MAX_LINE_BYTES = 48 << 10;

const countDropped = (run: readonly Entry[]): readonly DroppedCount[] =>
  sum(
    run.flatMap(({ event }): readonly DroppedCount[] => {
      const { assignment, type, outcome, code } = event;
      if (type === COMPACTED)
        return compactedSpan(event) ? (event.detail as unknown as CompactedDetail).counts : [];
      return [
        {
          ...(assignment === undefined ? {} : { assignment }),
          type,
          ...(outcome === undefined ? {} : { outcome }),
          ...(code === undefined ? {} : { code }),
          events: 1,
        },
      ];
    }),
  );

const withoutAssignments = (counts: readonly DroppedCount[]): readonly DroppedCount[] =>
  sum(counts.map(({ assignment: _, ...rest }) => rest));

const sum = (counts: readonly DroppedCount[]): readonly DroppedCount[] => {
  const byKind = Map.groupBy(counts, ({ events: _, ...kind }) => canonicalJson(kind));
  return [...byKind.values()].flatMap((same) => {
    const [first] = same;
    return first ? [{ ...first, events: same.reduce((total, { events }) => total + events, 0) }] : [];
  });
};
