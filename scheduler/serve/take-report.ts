import { FleetError } from '#bundles/errors';
import type { ReportAnswer, ReportHandover } from '#bundles/hub/hub-api';
import { parseStrictJson } from '#bundles/strict-json';
import { parseDocument } from '#bundles/validate';
import { acknowledgeIn } from '../hub/reports/acknowledge.ts';
import { type Ingested, ingestReportIn } from '../hub/reports/ingest-report.ts';
import { judgeReport } from '../hub/reports/judge-report.ts';
import type { AgentRow } from '../hub/store/tables.ts';
import type { Context } from './context.ts';

export type TakenReport = { readonly answer: ReportAnswer; readonly ingested: Ingested };

const WHAT = 'the report';
const MAX_PAYLOAD_BYTES = 64 << 10;

/**
 * A report from its own agent, judged as one on a medium is; events and receipt in one transaction. The same report again
 * changes nothing and gives the same receipt.
 * @throws FleetError WRONG_SITE, REPORT_CHAIN for one that contradicts what is stored (which is kept apart), those of judgeReport
 */
export const takeReport = async (body: unknown, agent: AgentRow, context: Context): Promise<TakenReport> => {
  const { hub, receiptKey, clock } = context;
  const { root } = hub.keys;
  const handover = parseDocument<ReportHandover>('hub-report', body, WHAT);
  checkSender(handover, agent);
  const report = {
    statement: Buffer.from(JSON.stringify(handover.statement)),
    events: Buffer.from(handover.events),
  };
  const judged = judgeReport(report, agent, root.fleet, WHAT);
  const now = clock();
  const { ingested, receipt } = await hub.store.transact(async (tx) => {
    const ingested = await ingestReportIn(tx, judged, agent, { source: 'network', now });
    if (ingested.apart) return { ingested, receipt: undefined };
    return { ingested, receipt: await acknowledgeIn(tx, agent.id, root, receiptKey, now) };
  });
  return {
    answer: { receipts: receipt ? [JSON.parse(receipt.receipt) as object] : [] },
    ingested,
  };
};

/**
 * Another agent's report is refused as such, before its signature is found to be by another key. What is unsigned here is
 * only good for that: judgeReport asks again.
 */
const checkSender = ({ statement }: ReportHandover, agent: AgentRow): void => {
  const { dsseEnvelope } = statement as { dsseEnvelope?: { payload?: unknown } };
  const payload = dsseEnvelope?.payload;
  if (typeof payload !== 'string') return;
  const said = parseStrictJson(Buffer.from(payload, 'base64'), { maxBytes: MAX_PAYLOAD_BYTES }, WHAT) as {
    predicate?: { agent?: unknown };
  } | null;
  const from = said?.predicate?.agent;
  if (typeof from !== 'string' || from === agent.id) return;
  throw new FleetError(
    'WRONG_SITE',
    `the report is from ${JSON.stringify(from.slice(0, 160))}, the certificate is of ${agent.id}`,
  );
};
