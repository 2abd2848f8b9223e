import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { agentFolder, type OpenMedium, RECEIPTS_FOLDER } from '#bundles/formats/medium/medium';
import { writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import type { Hub } from '../../hub.ts';
import { type Answered, addDocuments } from '../../sites/medium/add-documents.ts';
import { noteMedium } from '../../sites/medium/note-medium.ts';
import { abortIfAsked, orRefuse, type Refused } from '../../refused.ts';
import type { AgentRow, ReceiptRow } from '../../store/tables.ts';
import { acknowledge, publishReceipts, receiptDocument } from './acknowledge.ts';
import { findGaps, type Gap } from './find-head.ts';
import { type FoundReport, findReports, readReport } from '#bundles/trust/reports/find-reports';
import { ingestReport } from './ingest-report.ts';
import { judgeReport } from './judge-report.ts';
import { type FormerReport, readFormer } from './read-former.ts';

export type ImportedAgent = {
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly site: string;
  readonly reports: number;
  readonly taken: number;
  readonly known: number;
  readonly gaps: readonly Gap[];
  readonly alarms: readonly string[];
  /** Last event that the receipt acknowledges and the agent may delete; 0: none. */
  readonly acknowledged: number;
};

export type ImportedReports = {
  readonly agents: readonly ImportedAgent[];
  readonly refused: readonly Refused[];
  /** Reports by keys that were replaced since: left as they are, and no mistake. */
  readonly former: readonly FormerReport[];
  readonly answered: Answered | undefined;
};

/**
 * Imports every report on a medium, each in its own transaction, then writes the receipts to the layout and to the medium. A
 * refused report is returned in `refused` and does not stop the others.
 * @throws FleetError MEDIUM_EMPTY; KEY_MISSING, BUSY, DISK_FULL, STORE_CORRUPT, PERMISSION; ABORTED
 */
export const importReports = async (
  hub: Hub,
  medium: OpenMedium,
  now: Date,
  signal?: AbortSignal,
): Promise<ImportedReports> => {
  const found = await findReports(medium);
  if (found.length === 0) {
    throw new FleetError('MEDIUM_EMPTY', `there are no reports on ${medium.path}`, {
      hint: 'Run fleet-agent reports export on the machine, with this medium',
    });
  }
  const refused: Refused[] = [];
  const former: FormerReport[] = [];
  const tallies = new Map<string, Tally>();
  for (const [folder, reports] of Map.groupBy(found, (report) => report.folder)) {
    const agent = await findAgent(hub, folder);
    for (const report of reports) {
      abortIfAsked(signal);
      if (agent) await take({ hub, medium, agent, refused, former, now }, report, tallyOf(tallies, agent));
      else refused.push({ path: report.path, error: unknownAgent(report) });
    }
  }
  if (tallies.size > 0) await noteMedium(hub.store, medium, now);
  return { ...(await answer(hub, medium, tallies, now)), refused, former };
};

type Tally = {
  readonly agent: AgentRow;
  reports: number;
  taken: number;
  known: number;
  readonly alarms: string[];
};

const tallyOf = (tallies: Map<string, Tally>, agent: AgentRow): Tally => {
  const tally = tallies.get(agent.id) ?? { agent, reports: 0, taken: 0, known: 0, alarms: [] };
  tallies.set(agent.id, tally);
  return tally;
};

const findAgent = (hub: Hub, folder: string): Promise<AgentRow | undefined> =>
  hub.store.db
    .selectFrom('agent')
    .selectAll()
    .where('folder', '=', folder)
    .where('follower', 'is', null)
    .executeTakeFirst();

const unknownAgent = ({ path }: FoundReport): FleetError =>
  new FleetError('AGENT_UNKNOWN', `${path} is from an agent that was never enrolled here`, {
    hint: 'Enrol it first, or take the medium to the hub of its own fleet',
  });

type Taking = {
  readonly hub: Hub;
  readonly medium: OpenMedium;
  readonly agent: AgentRow;
  readonly refused: Refused[];
  readonly former: FormerReport[];
  readonly now: Date;
};

const take = async (
  { hub, medium, agent, refused, former, now }: Taking,
  found: FoundReport,
  tally: Tally,
): Promise<void> => {
  const report = await orRefuse(refused, found.path, async () => {
    const signed = await readReport(medium, found);
    try {
      return judgeReport(signed, agent, hub.keys.root.fleet, found.path);
    } catch (error) {
      const old = isFleetError(error, 'UNKNOWN_KEY')
        ? await readFormer(hub.store, signed, agent, found.path)
        : undefined;
      if (!old) throw error;
      former.push(old);
      return undefined;
    }
  });
  if (!report) return;
  const ingested = await ingestReport(hub.store, report, agent, { source: 'stick', now });
  tally.reports += 1;
  tally.taken += ingested.taken;
  tally.known += ingested.known;
  tally.alarms.push(...ingested.alarms);
  if (ingested.apart) refused.push({ path: found.path, error: ingested.apart });
};

const answer = async (
  hub: Hub,
  medium: OpenMedium,
  tallies: ReadonlyMap<string, Tally>,
  now: Date,
): Promise<Pick<ImportedReports, 'agents' | 'answered'>> => {
  const key = await hub.keys.key('receipt');
  const agents: ImportedAgent[] = [];
  const receipts: { readonly site: string; readonly row: ReceiptRow }[] = [];
  for (const { agent, ...counts } of [...tallies.values()].toSorted(byName)) {
    // Revoked agents and refused reports get no receipt.
    if (agent.revoked_at !== null || counts.reports === 0) continue;
    const row = await acknowledge(hub.store, agent.id, { root: hub.keys.root, key, now });
    if (row) receipts.push({ site: agent.site, row });
    const gaps = await findGaps(hub.store.db, {
      id: agent.id,
      life: agent.life,
      head_seq: row?.to_seq ?? 0,
    });
    agents.push({ agent: agent.id, site: agent.site, ...counts, gaps, acknowledged: row?.to_seq ?? 0 });
  }
  for (const site of new Set(receipts.map(({ site }) => site)))
    await publishReceipts(hub.store.db, hub.layout, site, now);
  return { agents, answered: await answerMedium(hub, medium, receipts, now) };
};

const byName = (a: Tally, b: Tally): number => compareBytes(a.agent.id, b.agent.id);

const answerMedium = async (
  hub: Hub,
  medium: OpenMedium,
  receipts: readonly { readonly site: string; readonly row: ReceiptRow }[],
  now: Date,
): Promise<Answered | undefined> => {
  if (receipts.length === 0) return undefined;
  const documents = receipts.map(({ site, row }) => receiptDocument(site, row));
  const answered = await addDocuments(medium, hub.keys.roots, documents, now);
  if (!answered.written) return answered;
  for (const { row } of receipts) {
    const file = `${RECEIPTS_FOLDER}/${agentFolder(row.agent)}.sigstore.json`;
    await writeFileOntoMedium(medium.path, file, Buffer.from(row.receipt)).catch((error: unknown) => {
      throw toFleetError(error, `writing ${file} onto ${medium.path}`);
    });
  }
  return answered;
};
