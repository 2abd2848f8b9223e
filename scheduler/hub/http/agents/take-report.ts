import { FleetError } from '#bundles/errors';
import type { ReportAnswer, ReportHandover } from '#bundles/formats/events/hub-api';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';
import type { ReportClaim } from '#bundles/trust/reports/report';
import { acknowledgeAll } from '../../ingest/reports/acknowledge.ts';
import { type Arrival, type Ingested, ingestReports } from '../../ingest/reports/ingest-report.ts';
import { judgeClaim, judgeEvents } from '../../ingest/reports/judge-report.ts';
import { groupCommits } from '../../store/group-commits.ts';
import type { AgentRow, ReceiptRow } from '../../store/tables.ts';
import type { Context } from '../context.ts';
import { noteRoom } from '../refused-reports.ts';

export type TakenReport = { readonly answer: ReportAnswer; readonly ingested: Ingested };

type Storing = Pick<Context, 'hub' | 'receiptKey' | 'clock'>;

/** Stores a verified report, and the receipt of an agent whose report was accepted and whose first event is stored. */
export type StoreReport = (
  arrival: Arrival,
) => Promise<{ readonly ingested: Ingested; readonly receipt: ReceiptRow | undefined }>;

/** Stores reports that arrive meanwhile, of different agents, in one transaction with their receipts. */
export const storeReports = ({ hub, receiptKey, clock }: Storing): StoreReport => {
  const store = groupCommits({
    keyOf: ({ agent }: Arrival) => agent.id,
    work: (arrivals) =>
      hub.store.transact(async (tx) => {
        const ingested = await ingestReports(tx, arrivals);
        const ids = arrivals.flatMap(({ agent }, at) => (ingested[at]?.apart ? [] : [agent.id]));
        const signer = { root: hub.keys.root, key: receiptKey, now: clock() };
        const receipts = ids.length === 0 ? undefined : await acknowledgeAll(tx, ids, signer);
        return ingested.map((one, at) => ({
          ingested: one,
          receipt: one.apart ? undefined : receipts?.get(arrivals[at]?.agent.id ?? ''),
        }));
      }),
  });
  return (arrival) => noteRoom(hub.store, clock, () => store(arrival));
};

type Taking = Pick<Context, 'hub' | 'clock'> & { readonly store: StoreReport };

const WHAT = 'the report';
const MAX_PAYLOAD_BYTES = 64 << 10;

/**
 * Accepts a report that an agent sends over the network, with the same checks as for a report on a medium. Events and receipt
 * are stored in one transaction. A repeated report changes nothing and gets the same receipt. A report that contradicts the
 * stored events is kept apart and returned as `ingested.apart`.
 * @throws FleetError SCHEMA; WRONG_SITE if it is from another agent; REVOKED, UNKNOWN_KEY, BAD_SIGNATURE, WRONG_FLEET,
 *   REPORT_INVALID, REPORT_CHAIN; AGENT_UNKNOWN if the agent changed meanwhile; BUSY, DISK_FULL
 */
export const takeReport = async (
  body: unknown,
  agent: AgentRow,
  { hub, clock, store }: Taking,
): Promise<TakenReport> => {
  const handover = parseDocument('hub-report', body, WHAT);
  const statement = Buffer.from(JSON.stringify(handover.statement));
  // The signature first: a thief's events are not copied.
  const claim = judgeOwn(handover, statement, agent);
  const report = { statement, events: Buffer.from(handover.events), claim };
  const judged = judgeEvents(report, agent, hub.keys.root.fleet, WHAT);
  const { ingested, receipt } = await store({
    report: judged,
    agent,
    received: { source: 'network', now: clock() },
  });
  return {
    answer: { receipts: receipt ? [JSON.parse(receipt.receipt) as ReportAnswer['receipts'][number]] : [] },
    ingested,
  };
};

/** A report of another agent gets a clear error, where its signature would fail. @throws FleetError WRONG_SITE; as judgeClaim */
const judgeOwn = (handover: ReportHandover, statement: Uint8Array, agent: AgentRow): ReportClaim => {
  try {
    const claim = judgeClaim(statement, agent, WHAT);
    checkSender(claim.predicate.agent, agent);
    return claim;
  } catch (error) {
    checkSender(unverifiedSender(handover), agent);
    throw error;
  }
};

const checkSender = (from: string | undefined, agent: AgentRow): void => {
  if (from === undefined || from === agent.id) return;
  throw new FleetError(
    'WRONG_SITE',
    `the report is from ${JSON.stringify(from.slice(0, 160))}, the certificate is of ${agent.id}`,
  );
};

const unverifiedSender = ({ statement }: ReportHandover): string | undefined => {
  const { dsseEnvelope } = statement as { dsseEnvelope?: { payload?: unknown } };
  const payload = dsseEnvelope?.payload;
  if (typeof payload !== 'string') return undefined;
  const said = parseStrictJson(Buffer.from(payload, 'base64'), { maxBytes: MAX_PAYLOAD_BYTES }, WHAT) as {
    predicate?: { agent?: unknown };
  } | null;
  const from = said?.predicate?.agent;
  return typeof from === 'string' ? from : undefined;
};
