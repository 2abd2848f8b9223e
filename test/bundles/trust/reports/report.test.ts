import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { MAX_REPORT_BYTES, type SignedReport, signReport, verifyReport } from '#bundles/trust/reports/report';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { newKey } from '../root/new-key.ts';
import { verdict } from '../../verdict.ts';

const [key, otherKey] = [newKey(), newKey()];
const AGENT = 'plant-7/line-1';
const WHAT = 'the report of plant-7/line-1';

/** Lines of events 1 to count, each with the hash of the one before. */
const chain = (count: number, agent = AGENT): readonly string[] => {
  const lines: string[] = [];
  for (let seq = 1; seq <= count; seq++) {
    const prev = lines.length === 0 ? GENESIS : hashLine(lines.at(-1) ?? '');
    const event: Event = {
      agent,
      seq,
      prev,
      bootId: 'boot',
      at: '2026-11-21T08:00:00Z',
      monotonicMs: seq * 1000,
      type: 'package',
      outcome: 'configured',
      message: `größe ${seq}`,
    };
    lines.push(encodeEvent(event));
  }
  return lines;
};

const lines = chain(5);
const blob = (of: readonly string[]): Buffer => Buffer.from(of.map((line) => `${line}\n`).join(''));

const predicateOf = (of: readonly string[], change: Partial<ReportPredicate> = {}): ReportPredicate => {
  const events = of.map((line) => JSON.parse(line) as Event);
  return {
    fleet: 'acme',
    agent: AGENT,
    from: events[0]?.seq ?? 1,
    to: events.at(-1)?.seq ?? 1,
    firstPrev: events[0]?.prev ?? GENESIS,
    lastHash: hashLine(of.at(-1) ?? ''),
    bootId: 'boot',
    time: '2026-11-21T08:00:00Z',
    clockTrusted: true,
    floors: { root: 1, site: 1, release: 1, lease: 0, time: '2026-11-21T08:00:00Z' },
    holds: [],
    ...change,
  };
};

/** The code that a report of these lines is refused with, though the agent's key signed it. */
const judged = async (of: readonly string[], change: Partial<ReportPredicate> = {}) => {
  const report = await signReport(blob(of), predicateOf(of, change), key);
  return verdict(() => verifyReport(report, key.public, WHAT));
};

const good = await signReport(blob(lines), predicateOf(lines), key);

describe('a report', () => {
  it('is read with all its events', () => {
    const verified = verifyReport(good, key.public, WHAT);
    expect(verified.events.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
    expect(verified.events[0]).toMatchObject({ prev: GENESIS, message: 'größe 1' });
    expect(verified.predicate).toEqual(predicateOf(lines));
    expect(verified.digest).toBe(digestOf(blob(lines)));
  });

  it('may start anywhere in the chain, and end without a line feed', async () => {
    expect(await judged(lines.slice(2))).toBe('ACCEPT');
    const report = await signReport(Buffer.from(lines.join('\n')), predicateOf(lines), key);
    expect(verifyReport(report, key.public, WHAT).events).toHaveLength(5);
  });

  const edited = (change: (text: string) => string): SignedReport => ({
    ...good,
    events: Buffer.from(change(good.events.toString())),
  });
  it.each([
    ['edited', edited((text) => text.replace('größe 3', 'kleine 3'))],
    ['cut', edited((text) => text.slice(0, -20))],
    ['lengthened', edited((text) => `${text}\n`)],
    ['reordered', edited(() => blob(lines.toReversed()).toString())],
    ['emptied', edited(() => '')],
  ])('that was %s in transit is refused as a whole', async (_how, report) => {
    expect(await verdict(() => verifyReport(report, key.public, WHAT))).toBe('REPORT_INVALID');
  });

  it("is refused when another key than the agent's signed it", async () => {
    expect(await verdict(() => verifyReport(good, otherKey.public, WHAT))).toBe('UNKNOWN_KEY');
    const borrowed = { public: key.public, sign: otherKey.sign };
    const forged = await signReport(blob(lines), predicateOf(lines), borrowed);
    expect(await verdict(() => verifyReport(forged, key.public, WHAT))).toBe('BAD_SIGNATURE');
  });
});

describe('the chain inside a signed report', () => {
  const [first = '', second = '', third = '', fourth = '', fifth = ''] = lines;
  const alter = (line: string, change: Partial<Event>): string =>
    encodeEvent({ ...(JSON.parse(line) as Event), ...change });

  it.each([
    ['reordered', [first, third, second, fourth, fifth]],
    ['with a gap', [first, second, fourth, fifth]],
    ['with an event twice', [first, second, second, third, fourth, fifth]],
    ['with an edited event', [first, alter(second, { outcome: 'failed' }), third, fourth, fifth]],
    [
      'with an event of another agent',
      [first, second, third, fourth, alter(fifth, { agent: 'plant-8/line-1' })],
    ],
    ['of another agent', chain(5, 'plant-8/line-1')],
    ['with another number', [first, second, third, fourth, alter(fifth, { seq: 6 })]],
    ['that forks off', [first, second, third, fourth, alter(fifth, { prev: hashLine(third) })]],
  ])('%s is refused: REPORT_CHAIN', async (_how, of) => {
    expect(await judged(of, { from: 1, to: 5 })).toBe('REPORT_CHAIN');
  });

  it.each([
    ['more events than there are', { to: 6 }],
    ['fewer', { to: 4 }],
    ['a range that runs backwards', { from: 6, to: 1 }],
    ['another number to begin with', { from: 2, to: 6 }],
    ['another event before', { firstPrev: digestOf('another') }],
    ['another event at its end', { lastHash: digestOf('another') }],
    ['another agent', { agent: 'plant-7/line-2' }],
  ])('is compared with the range in its statement: %s', async (_what, change) => {
    expect(await judged(lines, change)).toBe('REPORT_CHAIN');
  });

  const withLast = (line: string | Buffer) =>
    Buffer.concat([blob(lines.slice(0, 4)), Buffer.from(line as string), Buffer.from('\n')]);
  it.each([
    ['SCHEMA', alter(fifth, { outcome: 'done' as 'failed' })],
    ['SCHEMA', alter(fifth, { prev: 'sha256:0' })],
    ['SCHEMA', fifth.replace('"type"', '"critical":7,"type"')],
    ['UNSUPPORTED', fifth.replace('"type"', '"critical":["x"],"type"')],
    ['BAD_JSON', fifth.replace('"type"', '"type":"x","type"')],
    ['BAD_JSON', ''],
    ['TOO_LARGE', fifth.replace('größe', 'x'.repeat(64 << 10))],
    ['BAD_JSON', Buffer.from(fifth, 'latin1')],
  ])('is refused with %s for an invalid event (case %#)', async (code, line) => {
    const predicate = predicateOf(lines, { lastHash: digestOf(line) });
    const report = await signReport(withLast(line), predicate, key);
    expect(await verdict(() => verifyReport(report, key.public, WHAT))).toBe(code);
  });

  it('is refused unread above the size limit: TOO_LARGE', async () => {
    const report = await signReport(Buffer.alloc(MAX_REPORT_BYTES + 1, '\n'), predicateOf(lines), key);
    expect(await verdict(() => verifyReport(report, key.public, WHAT))).toBe('TOO_LARGE');
  });
});

describe('the hash of an event', () => {
  it('is the digest of exactly the bytes of its line', () => {
    expect(hashLine('{"größe":1}')).toBe(digestOf(Buffer.from('{"größe":1}')));
    expect(GENESIS).toBe(`sha256:${'0'.repeat(64)}`);
  });
});
