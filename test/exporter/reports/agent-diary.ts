import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';
import { agentFolder, RECEIPTS_FOLDER, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/formats/events/event';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { signReport } from '#bundles/trust/reports/report';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { NOW } from '../../harness/fleets/signed-fleet.ts';

/** The events of one agent, chained, and what becomes of them on a stick. */
export type Diary = {
  /** Hash of an event. */
  readonly hashAt: (seq: number) => Digest;
  /** Writes the events of a range as a signed report; the path without its endings. */
  readonly report: (
    stick: string,
    from: number,
    to: number,
    more?: Partial<ReportPredicate>,
  ) => Promise<string>;
  /** The hub's word for the events up to one, as a file beside the reports. */
  readonly receipt: (stick: string, to: number, key: SigningKey, head?: Digest) => Promise<void>;
};

/** @param tale tells one life of the agent from another */
export const agentDiary = (agent: string, key: SigningKey, count: number, tale = 'boot'): Diary => {
  const lines: string[] = [];
  for (let seq = 1; seq <= count; seq += 1) {
    const before = lines.at(-1);
    const event: Event = {
      agent,
      seq,
      prev: before === undefined ? GENESIS : hashLine(before),
      bootId: tale,
      at: formatTime(NOW),
      monotonicMs: seq,
      type: 'operator',
    };
    lines.push(encodeEvent(event));
  }
  const hashAt = (seq: number): Digest => (seq === 0 ? GENESIS : hashLine(lines[seq - 1] ?? ''));
  return {
    hashAt,
    report: async (stick, from, to, more = {}) => {
      const events = Buffer.from(
        lines
          .slice(from - 1, to)
          .map((line) => `${line}\n`)
          .join(''),
      );
      const predicate: ReportPredicate = {
        fleet: 'acme',
        agent,
        from,
        to,
        firstPrev: hashAt(from - 1),
        lastHash: hashAt(to),
        bootId: tale,
        time: formatTime(NOW),
        clockTrusted: true,
        floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(NOW) },
        holds: [],
        ...more,
      };
      const signed = await signReport(events, predicate, key);
      const twelve = (seq: number): string => String(seq).padStart(12, '0');
      const path = `${REPORTS_FOLDER}/${agentFolder(agent)}/${twelve(from)}-${twelve(to)}`;
      put(join(stick, `${path}.ndjson`), signed.events);
      put(join(stick, `${path}.sigstore.json`), signed.statement);
      return path;
    },
    receipt: async (stick, to, hub, head = hashAt(to)) => {
      const predicate = { fleet: 'acme', agent, from: 1, to, head, time: formatTime(NOW) };
      const bytes = await signReceipt(digestOf('a report'), predicate, hub);
      put(join(stick, RECEIPTS_FOLDER, `${agentFolder(agent)}.sigstore.json`), bytes);
    },
  };
};

const put = (file: string, bytes: Uint8Array): void => {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
};
