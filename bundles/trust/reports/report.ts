import { defined } from '../../defined.ts';
import { type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { parseTime, type Timestamp } from '../../time.ts';
import { signPayload } from '../statements/sign-payload.ts';
import type { ReportPredicate } from '../../formats/statements/predicates.ts';
import { encodeStatement, verifyStatement } from '../statements/verify-statement.ts';
import type { PublicKey, SigningKey } from '../keys/key.ts';
import { parseAs, readAs } from '../../json/parse-as.ts';
import { EVENT, REPORT_PREDICATE } from '../../json/schema/validators.js';
import { COMPACTED, compactedSpan, type Span } from '../../formats/events/compacted.ts';
import { type Event, hashLine, MAX_EVENT_BYTES } from '../../formats/events/event.ts';

/** A batch of events and the agent's signature over it. */
export type SignedReport = { readonly events: Buffer; readonly statement: Buffer };

/** 4 MiB of events a report; an agent with more makes several. */
export const MAX_REPORT_BYTES = 4 << 20;

export const signReport = async (
  events: Buffer,
  predicate: ReportPredicate,
  key: SigningKey,
): Promise<SignedReport> => ({
  events,
  statement: await signPayload(
    encodeStatement([{ name: 'events', digest: digestOf(events) }], PREDICATES.report, predicate),
    key,
  ),
});

/** An event without its `detail`, which may be large; the bytes of the report keep it. */
export type ReportedEvent = Omit<Event, 'detail'>;

export type VerifiedReport = {
  readonly predicate: ReportPredicate;
  readonly events: readonly ReportedEvent[];
  /** The place of each event in the chain, in the order of `events`. */
  readonly spans: readonly Span[];
  readonly digest: Digest;
};

/** Claim of a report's statement about its events, which have not been read. */
export type ReportClaim = { readonly predicate: ReportPredicate; readonly digests: readonly Digest[] };

/**
 * Verifies the agent's signature over the statement of a report alone, which is small.
 * @throws FleetError SCHEMA; as verifyStatement
 */
export const verifyClaim = (statement: Uint8Array, key: PublicKey, what: string): ReportClaim => {
  const verified = verifyStatement([statement], { keys: [key], threshold: 1 }, PREDICATES.report, what);
  const predicate = parseAs(REPORT_PREDICATE, verified.predicate, what);
  checkTimes(predicate, what);
  return {
    predicate,
    digests: verified.subjects.map(({ digest }) => digest),
  };
};

/**
 * Verifies the agent's signature, then the chain of events: no gap in the sequence, each `prev` the hash of the previous line.
 * @throws FleetError REPORT_INVALID, TOO_LARGE, BAD_JSON, SCHEMA, REPORT_CHAIN; as verifyStatement
 */
export const verifyReport = (report: SignedReport, key: PublicKey, what: string): VerifiedReport =>
  verifyEvents(report, verifyClaim(report.statement, key, what), what);

/** The same for a report whose claim has been verified already. @throws FleetError REPORT_INVALID, TOO_LARGE, BAD_JSON, SCHEMA, REPORT_CHAIN */
export const verifyEvents = (
  report: Pick<SignedReport, 'events'>,
  { predicate, digests }: ReportClaim,
  what: string,
): VerifiedReport => {
  const digest = digestOf(report.events);
  if (!digests.includes(digest)) {
    throw new FleetError('REPORT_INVALID', `${what} was changed after it was signed`);
  }
  if (report.events.byteLength > MAX_REPORT_BYTES) {
    throw new FleetError(
      'TOO_LARGE',
      `${what} has ${report.events.byteLength} bytes, at most ${MAX_REPORT_BYTES} are read`,
    );
  }
  return { predicate, ...parseEvents(report.events, predicate, what), digest };
};

/** Rejects times in a statement that no calendar or no clock has, which the pattern of the schema admits. @throws FleetError SCHEMA */
export const checkTimes = (
  { time, lookedAt, looks, floors }: Partial<Pick<ReportPredicate, 'time' | 'lookedAt' | 'looks' | 'floors'>>,
  what: string,
): void => {
  for (const at of [time, lookedAt, floors?.time, ...Object.values(looks?.packages ?? {})])
    if (at !== undefined && at !== null) checkTime(at, `a time of ${what}`);
};

/** The readers of stored reports parse a time, and calculate with it. @throws FleetError SCHEMA */
const checkTime = (text: Timestamp, what: string): void => {
  const year = parseTime(text, what).getUTCFullYear();
  if (year >= EARLIEST_YEAR && year <= LATEST_YEAR) return;
  throw new FleetError('SCHEMA', `${what} is ${text}, which no clock shows`);
};

/** A clock without a battery starts in 1970. */
const EARLIEST_YEAR = 1970;
const LATEST_YEAR = 9000;

/** Rejects bytes that are not UTF-8: decoding would change them before they are hashed. */
const decode = (bytes: Buffer, what: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new FleetError('BAD_JSON', `${what} is not UTF-8`, { cause });
  }
};

const parseEvents = (
  bytes: Buffer,
  predicate: ReportPredicate,
  what: string,
): Pick<VerifiedReport, 'events' | 'spans'> => {
  const text = decode(bytes, what);
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  let prev = predicate.firstPrev;
  let next = predicate.from;
  const spans: Span[] = [];
  const events = lines.map((line) => {
    const name = `event ${next} of ${what}`;
    // Without the details, which would take many times the memory of the report.
    const { detail, ...event } = readAs(EVENT, Buffer.from(line), { maxBytes: MAX_EVENT_BYTES }, name);
    checkTime(event.at, `at of ${name}`);
    if (event.seq !== next || event.prev !== prev || event.agent !== predicate.agent) {
      throw new FleetError('REPORT_CHAIN', `${name} does not continue the chain`);
    }
    const span = spanOf(line, event, detail);
    if (!span) throw new FleetError('REPORT_CHAIN', `${name} does not name the events that it replaces`);
    spans.push(span);
    prev = span.hash;
    next = span.to + 1;
    return event;
  });
  if (next !== predicate.to + 1) {
    throw new FleetError(
      'REPORT_CHAIN',
      `${what} has events ${predicate.from} to ${next - 1}, its statement says ${predicate.from} to ${predicate.to}`,
    );
  }
  if (prev !== predicate.lastHash)
    throw new FleetError('REPORT_CHAIN', `${what} ends with another event than it says`);
  return { events, spans };
};

/** The next event names this event's hash; after a compacted event, the hash of the last event that it replaces. */
const spanOf = (
  line: string,
  { seq, prev, type }: ReportedEvent,
  detail: Event['detail'],
): Span | undefined =>
  type === COMPACTED
    ? compactedSpan(defined({ seq, prev, detail }))
    : { seq, to: seq, prev, hash: hashLine(line) };
