import type { Digest } from '#bundles/digest';
import { GENESIS } from '#bundles/formats/events/event';
import type { AgentRow, Database, ReportRow, Tx } from '../../store/tables.ts';
import type { StoredSpan } from './compare-chain.ts';
import type { JudgedReport } from './judge-report.ts';
import { firstAround } from './stored-spans.ts';

/** First and last event of an agent's unbroken chain. */
export type Head = { readonly first: number; readonly seq: number; readonly hash: Digest };

/**
 * The head of an agent's chain after a report that fits was stored. Most reports continue the chain and nothing stored follows
 * them, which needs no question to the database. @param agent as it was before the report
 * @returns undefined if the head is the same, or the first event is missing
 */
export const headAfter = async (
  tx: Tx,
  agent: AgentRow,
  {
    row,
    report,
    stored,
  }: { readonly row: ReportRow; readonly report: JudgedReport; readonly stored: readonly StoredSpan[] },
): Promise<Head | undefined> => {
  // compareChain has checked that an event 1 follows none.
  const first = agent.first_seq > 0 ? agent.first_seq : row.first_seq;
  if (agent.first_seq === 0 && first !== 1) return await findHead(tx, agent);
  const next = agent.first_seq > 0 ? agent.head_seq + 1 : 1;
  if (row.first_seq > next || row.last_seq < next) return undefined;
  const hash = report.spans.at(-1)?.hash;
  if (hash !== undefined && stored.every(({ to }) => to <= row.last_seq))
    return { first, seq: row.last_seq, hash };
  return await findHead(tx, agent);
};

/**
 * Finds the head of an agent's chain, searching on from the known head. A chain begins at event 1, or continues the chain under
 * the agent's previous key. @returns undefined while the first event is missing
 */
const findHead = async (tx: Tx, agent: AgentRow): Promise<Head | undefined> => {
  const first = agent.first_seq > 0 ? agent.first_seq : await findFirst(tx, agent);
  if (first === undefined) return undefined;
  const last = await tx
    .selectFrom('event')
    .select(({ fn }) => [fn.coalesce('event.last_seq', 'event.seq').as('seq'), 'hash'])
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('seq', '>=', await firstAround(tx, agent, Math.max(first, agent.head_seq)))
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('event as next')
            .select('next.seq')
            .whereRef('next.agent', '=', 'event.agent')
            .whereRef('next.life', '=', 'event.life')
            .where(({ eb, fn }) =>
              eb('next.seq', '=', eb(fn.coalesce('event.last_seq', 'event.seq'), '+', 1)),
            ),
        ),
      ),
    )
    .orderBy('seq')
    .limit(1)
    .executeTakeFirstOrThrow();
  return { first, ...last };
};

const findFirst = async (tx: Tx, agent: AgentRow): Promise<number | undefined> => {
  const starts = await tx
    .selectFrom('event')
    .select(['seq', 'prev'])
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('seq', 'in', [1, agent.base_seq + 1])
    .orderBy('seq')
    .execute();
  return starts.find(({ seq, prev }) => prev === (seq === 1 ? GENESIS : agent.base_hash))?.seq;
};

/** A range of missing events, inclusive. */
export type Gap = { readonly from: number; readonly to: number };

const MAX_GAPS = 10;

/** The first gaps between an agent's head and its newest event, at most MAX_GAPS. */
export const findGaps = async (
  db: Database,
  agent: Pick<AgentRow, 'id' | 'life' | 'head_seq'>,
): Promise<readonly Gap[]> => {
  // A gap ends before an event whose predecessor is missing, and begins after the newest event before that.
  const ends = await db
    .selectFrom('event')
    .select('seq')
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('seq', '>', agent.head_seq + 1)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('event as before')
            .select('before.seq')
            .whereRef('before.agent', '=', 'event.agent')
            .whereRef('before.life', '=', 'event.life')
            .where(({ eb, or }) => {
              const seq = eb('event.seq', '-', 1);
              return or([eb('before.seq', '=', seq), eb('before.last_seq', '=', seq)]);
            }),
        ),
      ),
    )
    .orderBy('seq')
    .limit(MAX_GAPS)
    .execute();
  const gaps: Gap[] = [];
  for (const { seq } of ends) {
    const before = await db
      .selectFrom('event')
      .select(({ fn }) => fn.max(fn.coalesce('last_seq', 'seq')).as('seq'))
      .where('agent', '=', agent.id)
      .where('life', '=', agent.life)
      .where('seq', '<', seq)
      .executeTakeFirst();
    gaps.push({ from: (before?.seq ?? 0) + 1, to: seq - 1 });
  }
  return gaps;
};

export const formatGaps = (gaps: readonly Gap[]): string =>
  gaps.map(({ from, to }) => (from === to ? String(from) : `${from}-${to}`)).join(', ');
