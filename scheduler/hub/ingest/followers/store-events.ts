import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { encodeEvent, type Event, hashLine } from '#bundles/formats/events/event';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { updateAgentStates } from '../reports/agent-state.ts';
import { eventColumns } from '../reports/ingest-report.ts';
import { nextNumber } from '../reports/next-number.ts';
import { updateStates } from '../reports/update-states.ts';
import type { AgentRow, EventRow, ReportRow, Tx } from '../../store/tables.ts';

/** An event without the fields that this module adds: agent, number, time and hash of the chain. */
export type NewEvent = Omit<Event, 'agent' | 'seq' | 'prev' | 'bootId' | 'at' | 'monotonicMs' | 'detail'>;

export type Origin = {
  /** Of the notification's bytes. */
  readonly digest: Digest;
  readonly at: Timestamp;
  readonly now: Date;
  readonly object: string;
};

/**
 * Stores a notification as one unsigned report of the follower, with its time. The source is the follower's kind, which marks
 * the report as unsigned in the status table, the history and the gates. The clock of the cluster is not trusted, so that facts
 * count from their arrival.
 */
export const storeEvents = async (
  tx: Tx,
  agent: AgentRow,
  news: readonly NewEvent[],
  { digest, at, now, object }: Origin,
): Promise<void> => {
  const receivedAt = formatTime(now);
  const spokenAt = at < receivedAt ? at : receivedAt;
  const spoken = defined({
    heard_at: receivedAt,
    said_at:
      agent.said_at === null || agent.said_at < spokenAt || agent.said_at > receivedAt ? spokenAt : undefined,
  });
  const chained = chainEvents(agent, news, at, object);
  const last = chained.at(-1);
  if (!last) {
    await tx.updateTable('agent').set(spoken).where('id', '=', agent.id).execute();
    return;
  }
  const report = {
    ...toReport(agent, { digest, at, receivedAt, first: agent.head_seq + 1, last: last.event.seq }),
    number: await nextNumber(tx),
  };
  await tx.insertInto('report').values(report).execute();
  const events = chained.map(({ event }) => event);
  await updateStates(tx, [{ report, events }]);
  await tx
    .insertInto('event')
    .values(chained.map((one) => toEventRow(agent, digest, one)))
    .execute();
  const imported = events.findLast(({ type }) => type === 'imported');
  await tx
    .updateTable('agent')
    .set({
      ...spoken,
      first_seq: agent.first_seq === 0 ? 1 : agent.first_seq,
      head_seq: last.event.seq,
      head_hash: last.hash,
      ...(imported?.release && {
        release_version: imported.release.version,
        release_channel: formatChannel(imported.release),
        release_seq: imported.seq,
        release_at: imported.at,
      }),
    })
    .where('id', '=', agent.id)
    .execute();
  await updateAgentStates(tx, [report]);
};

type Chained = { readonly event: Event; readonly line: string; readonly hash: Digest };

/** Numbers and chains the events like an agent's, so that gaps and the history work alike. */
const chainEvents = (
  { id, follower, head_seq: head, head_hash: start }: AgentRow,
  news: readonly NewEvent[],
  at: Timestamp,
  object: string,
): readonly Chained[] => {
  let prev = start;
  return news.map((one, index) => {
    const origin = { bootId: follower ?? '', monotonicMs: 0, detail: { object } };
    const event: Event = { ...one, ...origin, agent: id, seq: head + 1 + index, prev, at };
    const line = encodeEvent(event);
    prev = hashLine(line);
    return { event, line, hash: prev };
  });
};

const toReport = (
  { id, life, follower }: AgentRow,
  {
    digest,
    at,
    receivedAt,
    first,
    last,
  }: {
    readonly digest: Digest;
    readonly at: Timestamp;
    readonly receivedAt: Timestamp;
    readonly first: number;
    readonly last: number;
  },
): Omit<ReportRow, 'number'> => ({
  agent: id,
  life,
  digest,
  first_seq: first,
  last_seq: last,
  source: follower ?? '',
  received_at: receivedAt,
  written_at: at,
  clock_trusted: 0,
  channel: null,
  floor_root: 0,
  floor_site: 0,
  floor_release: 0,
  floor_lease: 0,
  floor_time: at,
  statement: '',
  apart: 0,
});

const toEventRow = ({ id, life }: AgentRow, report: Digest, { event, line, hash }: Chained): EventRow => ({
  agent: id,
  life,
  seq: event.seq,
  hash,
  prev: event.prev,
  ...eventColumns(event),
  report,
  line,
  last_seq: null,
});
