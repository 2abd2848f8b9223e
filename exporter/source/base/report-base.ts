import { defined } from '#bundles/defined';
import { shortDigest } from '#bundles/digest';
import { packageNames } from '#bundles/formats/bundle/package-names';
import { FleetError, isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { isName } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import type { ReportPredicate, SiteAgent } from '#bundles/formats/statements/predicates';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { parseAs } from '#bundles/json/parse-as';
import { REPORT_PREDICATE } from '#bundles/json/schema/validators';
import type { Source } from '../source.ts';
import type { Base } from '#bundles/formats/medium/choose-blobs';
import { blobsOf } from './blobs-of.ts';
import { readReleaseBundles } from './release-base.ts';
import type { SiteAgents } from './site-agents.ts';

/** A report that verifies with the agent's key in the site statement. */
export type AgentReport = {
  /** '<site>/<agent>' */
  readonly name: string;
  readonly agent: SiteAgent;
  readonly report: ReportPredicate;
};

/**
 * Reads the report of an agent and verifies it with the agent's key in the site statement.
 * @throws FleetError WRONG_FLEET, SITE_MISSING, AGENT_UNKNOWN, PREDICATE_TYPE, REPORT_INVALID, SCHEMA, and the errors of verifyStatement
 */
export const readReport = async (
  agentsOf: (site: string) => Promise<SiteAgents>,
  bytes: Uint8Array,
  what: string,
): Promise<AgentReport> => {
  const name = claimedAgent(bytes, what);
  const [site = '', own = ''] = name.split('/');
  const { root, agents } = await agentsOf(site);
  const agent = agents.find((one) => one.name === own);
  if (!agent)
    throw new FleetError(
      'AGENT_UNKNOWN',
      `${what} is a report of ${name}, and site ${site} has no such agent`,
    );
  const role = { keys: [parsePublicKey(agent.key)], threshold: 1 };
  const { predicate } = verifyStatement([bytes], role, PREDICATES.report, what);
  const report = parseAs(REPORT_PREDICATE, predicate, what);
  if (report.fleet !== root.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `${what} is a report of fleet ${report.fleet}, and this source is of fleet ${root.fleet}`,
    );
  }
  return { name, agent, report };
};

/**
 * The blobs of the bundles that a report names, if the source still has them. An agent that changed its channel may hold bundles of
 * the previous one.
 */
export const reportBase = async (
  source: Source,
  { name, agent, report }: AgentReport,
  signal?: AbortSignal,
): Promise<Base> => {
  const { channel, previousChannel } = agent;
  const channels = previousChannel ? [channel, previousChannel] : [channel];
  const blobs = await blobsOf(source, report.holds, channels, signal);
  const packages = await runningPackages(source, { agent, report }, signal);
  return { name, agent: name, channel, ...blobs, ...defined({ packages }) };
};

/**
 * The packages that an agent runs: of its only bundle, or else of the release that is its floor.
 * @returns undefined when the source no longer has them
 * @throws FleetError only retryable and internal errors
 */
const runningPackages = async (
  source: Source,
  { agent: { channel }, report }: Pick<AgentReport, 'agent' | 'report'>,
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string> | undefined> => {
  const [only, ...more] = report.holds;
  if (only === undefined) return new Set();
  try {
    const bundles =
      more.length === 0 ? [only] : await readReleaseBundles(source, channel, report.floors.release, signal);
    return await packageNames(source.blobs(channelRepository(channel)), bundles, signal);
  } catch (error) {
    if (!isFleetError(error) || error.retryable || error.exitCode === 1) throw error;
    return undefined;
  }
};

/** Reads the claimed agent from an unverified report, to select the key to verify it with. */
export const claimedAgent = (bytes: Uint8Array, what: string): string => {
  const { payload } = parseEnvelope(bytes, what);
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, what) as {
    predicateType?: unknown;
    predicate?: { agent?: unknown } | null;
  } | null;
  if (json?.predicateType !== PREDICATES.report) {
    throw new FleetError('PREDICATE_TYPE', `${what} is not a report`, {
      hint: "--for takes an agent's signed report, or a medium",
    });
  }
  const agent = json.predicate?.agent;
  if (typeof agent === 'string' && agent.split('/').length === 2 && agent.split('/').every(isName))
    return agent;
  throw new FleetError('REPORT_INVALID', `${what} names no agent`);
};

/** For notes: which bundles a base has that the source lost. */
export const describeUnknown = ({ name, unknown }: Base): string =>
  `${name} holds ${unknown.map(shortDigest).join(', ')}, but the source has ${
    unknown.length === 1 ? 'it' : 'them'
  } no more: blobs of that base are sent again`;
