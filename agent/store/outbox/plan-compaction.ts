import { defined } from '#bundles/defined';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import {
  COMPACTED,
  type CompactedDetail,
  compactedSpan,
  type DroppedCount,
} from '#bundles/formats/events/compacted';
import { type Event, encodeEvent, MAX_EVENT_BYTES } from '#bundles/formats/events/event';
import type { OutboxLine } from './outbox.ts';

/** Consecutive lines of the outbox, and the one line that replaces them. */
export type Compaction = { readonly from: number; readonly replacement: OutboxLine };

type Entry = OutboxLine & { readonly event: Event };

/**
 * Finds runs of repeated events and makes a `compacted` event for each. All changes and different failures are kept; of the
 * repetitions between them, the first and the last for each assignment. The state that follows from the events stays the same.
 * @param lines the unacknowledged events in order
 */
export const planCompaction = (lines: readonly OutboxLine[]): readonly Compaction[] => {
  const entries = lines.map((line) => ({ ...line, event: parseJson(line.line) as Event }));
  const droppable = findRepetitions(entries.map(({ event }) => event));
  const runs: [Entry, ...Entry[]][] = [];
  for (const [index, entry] of entries.entries()) {
    if (!droppable.has(index)) continue;
    if (droppable.has(index - 1) && index > 0) runs.at(-1)?.push(entry);
    else runs.push([entry]);
  }
  return runs.map(compact).filter((compaction) => compaction !== undefined);
};

/**
 * Indexes of events that may be dropped: events of a kind that also occurs before and after them, while nothing changes and no
 * other failure occurs.
 */
const findRepetitions = (events: readonly Event[]): ReadonlySet<number> => {
  const droppable = new Set<number>();
  /** By assignment since its last change: the failure, if there was one, and the last index of each kind. */
  const segments = new Map<
    string,
    { readonly failure: string | undefined; readonly last: Map<string, number | undefined> }
  >();
  for (const [index, event] of events.entries()) {
    if (event.type === COMPACTED) {
      droppable.add(index);
      continue;
    }
    const about = event.assignment ?? '';
    const failure = failureOf(event);
    const kind = canonicalJson([event.type, event.outcome ?? null, failure ?? event.code ?? null]);
    const segment = segments.get(about);
    const isOther = failure !== undefined && segment?.failure !== undefined && failure !== segment.failure;
    if (!segment || isOther || (failure === undefined && !isConfirmation(event))) {
      segments.set(about, { failure, last: new Map([[kind, undefined]]) });
      continue;
    }
    const { last } = segment;
    const before = last.get(kind);
    if (before !== undefined) droppable.add(before);
    // The first of its kind has no index here, and so stays.
    last.set(kind, last.has(kind) ? index : undefined);
    segments.set(about, { failure: segment.failure ?? failure, last });
  }
  return droppable;
};

/** Types whose events confirm a state that an earlier event began, unless they report an error. */
const CONFIRMATIONS: ReadonlySet<string> = new Set(['drift', 'corrected', 'check', 'receipt']);

/** True for an event of a package that runs what it ran before: it matches again, is healthy again, or waits. */
const isConfirmation = ({ type, outcome }: Event): boolean =>
  CONFIRMATIONS.has(type) || (type === 'package' && (outcome === 'unchanged' || outcome === 'skipped'));

/** Types whose events report a failure and change nothing. */
const FAILURES: ReadonlySet<string> = new Set([...CONFIRMATIONS, 'package']);

/**
 * A text that is equal for equal failures: a package and its check report one failure. Words with digits do not count: they are ages, ports
 * and generated names. undefined: the event reports no failure, or changes something.
 */
const failureOf = ({
  type,
  outcome,
  code,
  package: digest,
  siteValues,
  message,
}: Event): string | undefined => {
  const isFailure =
    FAILURES.has(type) &&
    (outcome === 'failed' || (outcome === undefined && code !== undefined && code !== 'DRIFT'));
  if (!isFailure) return undefined;
  const said = message?.replaceAll(/\S*\d\S*/g, '0');
  return canonicalJson([code ?? null, digest ?? null, siteValues ?? null, said ?? null]);
};

/**
 * The line as readers take it: a `compacted` event replaces an event of more than 64 KiB, which older agents could store. The event
 * that follows has its hash, so that it cannot be shortened.
 */
export const replaceTooLong = (line: OutboxLine): OutboxLine =>
  Buffer.byteLength(line.line) <= MAX_EVENT_BYTES
    ? line
    : replacing([{ ...line, event: parseJson(line.line) as Event }]);

/** undefined for a run that would not become shorter. */
const compact = (run: readonly [Entry, ...Entry[]]): Compaction | undefined => {
  if (run.length < 2) return undefined;
  const replacement = replacing(run);
  const bytes = run.reduce((sum, entry) => sum + Buffer.byteLength(entry.line), 0);
  return Buffer.byteLength(replacement.line) < bytes ? { from: replacement.seq, replacement } : undefined;
};

const replacing = (run: readonly [Entry, ...Entry[]]): OutboxLine => {
  const last = run.at(-1) ?? run[0];
  const { lastSeq, hash } = last;
  const detail = (counts: readonly DroppedCount[]): Event['detail'] =>
    ({ to: lastSeq, lastHash: hash, counts }) satisfies CompactedDetail;
  const { agent, bootId, at, monotonicMs } = last.event;
  const { seq, prev } = run[0].event;
  const event = { agent, seq, prev, bootId, at, monotonicMs, type: COMPACTED };
  const counts = countDropped(run);
  const full = encodeEvent({ ...event, detail: detail(counts) });
  const line =
    Buffer.byteLength(full) <= MAX_LINE_BYTES
      ? full
      : encodeEvent({ ...event, detail: detail(withoutAssignments(counts)) });
  return { seq, lastSeq, hash, line };
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
        defined({
          assignment,
          type,
          outcome,
          code,
          events: 1,
        }),
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
