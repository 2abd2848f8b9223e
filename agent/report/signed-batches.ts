import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_REPORT_BYTES, type SignedReport, signReport } from '#bundles/trust/reports/report';
import type { ReportPredicate } from '#bundles/formats/statements/predicates';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { Agent } from '../store/agent.ts';
import { heldWithImages } from '../images/held-bundles.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { fullName } from '../store/identity.ts';
import { readFloors } from '../store/trust.ts';
import { type OutboxLine, readOutbox } from '../store/outbox/outbox.ts';
import { replaceTooLong } from '../store/outbox/plan-compaction.ts';
import { reportedLooks } from '../observe/reported-looks.ts';

/** Consecutive events under one signature. */
export type Batch = { readonly from: number; readonly to: number; readonly signed: SignedReport };

/** Largest number of events under one signature. */
const MAX_EVENTS = 1000;

/**
 * All unacknowledged events in signed batches, oldest first, for media and network alike. A batch is signed when the consumer
 * requests it. @param maxBytes of the events of one batch @throws FleetError NOT_ENROLLED, ABORTED
 */
export async function* signedBatches(
  agent: Agent,
  key: SigningKey,
  maxBytes = MAX_REPORT_BYTES,
): AsyncGenerator<Batch> {
  const batches = inBatches(readOutbox(agent.state).map(replaceTooLong), maxBytes);
  const common = await commonFields(agent);
  for (const lines of batches) {
    checkAborted(agent.signal);
    const [first, last] = [lines[0] as OutboxLine, lines.at(-1) as OutboxLine];
    const events = Buffer.from(lines.map(({ line }) => `${line}\n`).join(''));
    const range = { from: first.seq, to: last.lastSeq };
    const chain = { firstPrev: prevOf(first), lastHash: last.hash };
    yield { ...range, signed: await signReport(events, { ...common, ...range, ...chain }, key) };
  }
}

const commonFields = async (
  agent: Agent,
): Promise<Omit<ReportPredicate, 'from' | 'to' | 'firstPrev' | 'lastHash'>> => {
  checkReportable(agent);
  const floors = readFloors(agent.state);
  return {
    fleet: agent.identity.fleet,
    agent: fullName(agent.identity),
    bootId: agent.edge.bootId,
    time: formatTime(agent.edge.now()),
    clockTrusted: agent.edge.clockTrusted,
    floors,
    holds: await heldWithImages(agent),
    ...reportedLooks(agent),
  };
};

/** @throws FleetError NOT_ENROLLED before the first medium or answer: the office could not verify a report */
export const checkReportable = ({ state }: Pick<Agent, 'state'>): void => {
  if (readFloors(state).root === 0) {
    throw new FleetError(
      'NOT_ENROLLED',
      'this agent has not accepted any medium yet, so the office could not verify it',
      {
        hint: 'Import the answer to the enrolment first; what happened until then is kept and reported after it',
      },
    );
  }
};

/** Fills batches in order, so that only the last one changes when events are added. */
const inBatches = (lines: readonly OutboxLine[], maxBytes: number): readonly (readonly OutboxLine[])[] => {
  const batches: OutboxLine[][] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(line.line) + 1;
    const current = batches.at(-1);
    if (!current || current.length === MAX_EVENTS || bytes + size > maxBytes) {
      batches.push([line]);
      bytes = size;
    } else {
      current.push(line);
      bytes += size;
    }
  }
  return batches;
};

const prevOf = ({ line }: OutboxLine): Digest => (JSON.parse(line) as { prev: Digest }).prev;
