import { compareBytes } from '#bundles/digest';
import { type ErrorCode, FleetError, formatError, isFleetError } from '#bundles/errors';
import { agentFolder, type OpenMedium, REPORTS_FOLDER } from '#bundles/formats/medium/medium';
import { findOddEntries } from '#bundles/formats/medium/plain-files';
import { type FoundReport, findReports, readReport } from '#bundles/trust/reports/find-reports';
import { verifyReport } from '#bundles/trust/reports/report';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStatement } from '#bundles/trust/statements/verify-statement';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { parseAs } from '#bundles/json/parse-as';
import { REPORT_PREDICATE } from '#bundles/json/schema/validators';
import { claimedAgent } from '../source/base/report-base.ts';
import type { AgentsOf } from '../source/base/site-agents.ts';
import { newestReceipt } from './newest-receipt.ts';

export type ListedReport = {
  /** Path relative to the medium, without the two suffixes. */
  readonly path: string;
  readonly from: number;
  readonly to: number;
  readonly time: string;
  readonly bytes: number;
  /** 'unchecked': the agent's key is unknown. */
  readonly signature: 'right' | 'unchecked' | 'refused';
  readonly code?: ErrorCode;
  readonly message?: string;
};

export type AgentReports = {
  /** '<site>/<agent>' according to the reports. */
  readonly agent: string;
  readonly reports: readonly ListedReport[];
  /** Missing event numbers between the reports. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
  /** Last event that the hub has, by a receipt on the medium; undefined without a verifiable receipt. */
  readonly acknowledged: number | undefined;
};

export type ReportList = {
  readonly agents: readonly AgentReports[];
  /** Files that are not readable reports. */
  readonly refused: readonly { readonly path: string; readonly code: ErrorCode; readonly message: string }[];
};

/**
 * Lists the reports on a medium by agent and verifies their signatures. An invalid report does not stop the others.
 * @param agentsOf the agents and their keys; undefined: unknown, nothing is verified
 */
export const listReports = async (
  medium: OpenMedium,
  agentsOf: AgentsOf | undefined,
  signal?: AbortSignal,
): Promise<ReportList> => {
  const refused: ReportList['refused'][number][] = [];
  for (const root of medium.roots)
    for (const { code, message } of await findOddEntries(root, REPORTS_FOLDER))
      refused.push({ path: REPORTS_FOLDER, code, message });
  const listed: { readonly agent: string; readonly report: ListedReport }[] = [];
  for (const found of await findReports(medium)) {
    signal?.throwIfAborted();
    try {
      listed.push(await listOne(medium, found, agentsOf));
    } catch (error) {
      const { code, message } = refusal(error);
      refused.push({ path: found.path, code, message });
    }
  }
  const agents: AgentReports[] = [];
  for (const [agent, entries] of Map.groupBy(listed, (one) => one.agent)) {
    const reports = entries.map(({ report }) => report).toSorted((a, b) => a.from - b.from || a.to - b.to);
    const receipt = agentsOf && (await newestReceipt(medium, agent, agentsOf));
    agents.push({ agent, reports, gaps: gapsIn(reports), acknowledged: receipt?.to });
  }
  return { agents: agents.toSorted((a, b) => compareBytes(a.agent, b.agent)), refused };
};

/** @throws FleetError for a file that is not a report */
const listOne = async (
  medium: OpenMedium,
  found: FoundReport,
  agentsOf: AgentsOf | undefined,
): Promise<{ readonly agent: string; readonly report: ListedReport }> => {
  const signed = await readReport(medium, found);
  const agent = claimedAgent(signed.statement, found.path);
  const { payload } = parseEnvelope(signed.statement, found.path);
  const { predicate } = parseStatement(payload, found.path);
  const { from, to, time } = parseAs(REPORT_PREDICATE, predicate, found.path);
  const base = { path: found.path, from, to, time, bytes: signed.events.byteLength };
  if (!agentsOf) return { agent, report: { ...base, signature: 'unchecked' } };
  try {
    await verify(signed, found, agent, agentsOf);
    return { agent, report: { ...base, signature: 'right' } };
  } catch (error) {
    const { code, message } = refusal(error);
    // An unknown site does not make the report invalid.
    const signature = code === 'SITE_MISSING' ? 'unchecked' : 'refused';
    return { agent, report: { ...base, signature, code, message } };
  }
};

const verify = async (
  signed: Awaited<ReturnType<typeof readReport>>,
  { path, folder }: FoundReport,
  agent: string,
  agentsOf: AgentsOf,
): Promise<void> => {
  const [site = '', name = ''] = agent.split('/');
  const { agents, root } = await agentsOf(site);
  const known = agents.find((one) => one.name === name);
  if (!known)
    throw new FleetError(
      'AGENT_UNKNOWN',
      `${path} is a report of ${agent}, and site ${site} has no such agent`,
    );
  const { predicate } = verifyReport(signed, parsePublicKey(known.key), path);
  if (predicate.fleet !== root.fleet)
    throw new FleetError(
      'WRONG_FLEET',
      `${path} is a report of fleet ${predicate.fleet}, not of ${root.fleet}`,
    );
  if (folder !== agentFolder(agent))
    throw new FleetError(
      'REPORT_INVALID',
      `${path} is a report of ${agent}, and is in the folder of another agent`,
    );
};

/** Reports may overlap, because events may be exported twice. */
const gapsIn = (reports: readonly ListedReport[]): AgentReports['gaps'] => {
  const gaps: { readonly from: number; readonly to: number }[] = [];
  let covered = reports[0]?.from ?? 1;
  for (const { from, to } of reports) {
    if (from > covered) gaps.push({ from: covered, to: from - 1 });
    covered = Math.max(covered, to + 1);
  }
  return gaps;
};

const refusal = (error: unknown): { readonly code: ErrorCode; readonly message: string } => {
  if (!isFleetError(error) || error.exitCode === 1 || error.exitCode === 6) throw error;
  return { code: error.code, message: formatError(error) };
};
