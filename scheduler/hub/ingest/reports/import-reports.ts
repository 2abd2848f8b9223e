import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import {
  agentFolder,
  type OpenMedium,
  RECEIPTS_FOLDER,
  REPORTS_FOLDER,
  reportName,
} from '#bundles/formats/medium/medium';
import { writeFilesOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import type { Hub } from '../../hub.ts';
import { type Answered, addDocuments } from '../../sites/medium/add-documents.ts';
import { noteMedium } from '../../sites/medium/note-medium.ts';
import { abortIfAsked, oddEntries, orRefuse, type Refused } from '../../refused.ts';
import type { AgentRow, ReceiptRow } from '../../store/tables.ts';
import { acknowledge } from './acknowledge.ts';
import { writeReceipts, receiptDocument } from '../../sites/write-receipts.ts';
import { findGaps, type Gap } from './find-head.ts';
import { type FoundReport, findReports, readStatementOf } from '#bundles/trust/reports/find-reports';
import { findSupport } from '#bundles/trust/reports/find-support';
import { importSupport } from '../../support/import-support.ts';
import type { TakenSupport } from '../../support/take-support.ts';
import { MAX_REPORT_BYTES } from '#bundles/trust/reports/report';
import { ingestReport } from './ingest-report.ts';
import { type JudgedReport, judgeClaim, judgeReport } from './judge-report.ts';
import { type Copies, groupCopies } from './group-copies.ts';
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
  readonly support: readonly TakenSupport[];
  readonly refused: readonly Refused[];
  /** Reports by keys that were replaced since: left as they are, and no mistake. */
  readonly former: readonly FormerReport[];
  readonly answered: Answered | undefined;
};

/**
 * Imports every report and support bundle on a medium, each in its own transaction, then writes the receipts to the layout and to the medium. A
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
  const bundles = await findSupport(medium);
  if (found.length + bundles.length === 0) {
    throw new FleetError('MEDIUM_EMPTY', `there are no reports on ${medium.path}`, {
      hint: 'Run fleet-agent reports export on the machine, with this medium',
    });
  }
  const refused: Refused[] = await oddEntries(medium, REPORTS_FOLDER);
  const former: FormerReport[] = [];
  const tallies = new Map<string, Tally>();
  for (const [folder, reports] of Map.groupBy(found, (report) => report.folder)) {
    const agent = await findAgent(hub, folder);
    if (!agent) {
      const [first] = reports;
      if (first) refused.push({ path: first.path, error: unknownAgent(first, reports.length) });
      continue;
    }
    for (const group of await groupCopies(medium, reports, refused, signal)) {
      abortIfAsked(signal);
      await take({ hub, medium, agent, refused, former, now }, group, tallyOf(tallies, agent));
    }
  }
  if (tallies.size > 0) await noteMedium(hub.store, medium, now);
  const support = await importSupport(hub, medium, bundles, { now, refused, signal });
  return { ...(await answer(hub, medium, tallies, now)), support, refused, former };
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

const unknownAgent = ({ path, folder }: FoundReport, count: number): FleetError =>
  new FleetError(
    'AGENT_UNKNOWN',
    `${count === 1 ? path : `${REPORTS_FOLDER}/${folder} with ${count} reports`} is from an agent that was never enrolled here`,
    { hint: 'Enrol it first, or take the medium to the hub of its own fleet' },
  );

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
  copies: Copies,
  tally: Tally,
): Promise<void> => {
  const [found] = copies;
  const report = await orRefuse(refused, found.path, async () => {
    try {
      return await judgeCopies(medium, copies, agent, hub.keys.root.fleet);
    } catch (error) {
      const old = isFleetError(error, 'UNKNOWN_KEY')
        ? await readFormer(hub.store, await readStatementOf(medium, found), agent, found.path)
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

/**
 * Verifies one of the copies of a report. Statements are small, so each may be the genuine one; events are large, and those of two copies
 * at most are read: the one with the name that the agent gives it, and the one with the genuine statement.
 * @throws FleetError as judgeReport
 */
const judgeCopies = async (
  medium: OpenMedium,
  copies: Copies,
  agent: AgentRow,
  fleet: string,
): Promise<JudgedReport> => {
  const genuine = await firstGood(copies, async (copy) => {
    const statement = await readStatementOf(medium, copy);
    return { copy, statement, claim: judgeClaim(statement, agent, copy.path) };
  });
  const { from, to } = genuine.claim.predicate;
  const named = copies.find(({ path }) => path.endsWith(`/${reportName(from, to)}`));
  const read = named && named !== genuine.copy ? ([named, genuine.copy] as const) : ([genuine.copy] as const);
  return firstGood(read, async ({ path }) => {
    const events = await medium.readFile(`${path}.ndjson`, MAX_REPORT_BYTES);
    return judgeReport({ events, statement: genuine.statement }, agent, fleet, path);
  });
};

/** The first result. @throws FleetError of the first item if none has a result */
const firstGood = async <I, T>(items: readonly [I, ...I[]], work: (item: I) => Promise<T>): Promise<T> => {
  const [first, ...others] = items;
  try {
    return await work(first);
  } catch (error) {
    if (!isFleetError(error)) throw error;
    for (const other of others)
      try {
        return await work(other);
      } catch (failure) {
        if (!isFleetError(failure)) throw failure;
      }
    throw error;
  }
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
  const sites = [...new Set(receipts.map(({ site }) => site))];
  if (sites.length > 0) await writeReceipts(hub.store.db, hub.layout, sites, now);
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
  const files = receipts.map(({ row }) => ({
    path: `${RECEIPTS_FOLDER}/${agentFolder(row.agent)}.sigstore.json`,
    bytes: Buffer.from(row.receipt),
  }));
  await writeFilesOntoMedium(medium.path, files).catch((error: unknown) => {
    throw toFleetError(error, `writing ${RECEIPTS_FOLDER} onto ${medium.path}`);
  });
  return answered;
};
