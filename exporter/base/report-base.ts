import { readBundle } from '#bundles/bundle/read-bundle';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { isName } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/statements/envelope';
import type { ReportPredicate, SiteAgent } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import { parseStrictJson } from '#bundles/strict-json';
import { parsePublicKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';
import { judgeRoots, judgeSite } from '../check/judge.ts';
import { readClosure } from '../source/read-closure.ts';
import { readSite } from '../source/read-offer.ts';
import { routedBlobs } from '../source/routed-blobs.ts';
import type { Source } from '../source/source.ts';
import type { Base } from './base.ts';

/** A report whose signature fits the key in its site's statement. */
export type AgentReport = {
  /** '<site>/<agent>' */
  readonly name: string;
  readonly agent: SiteAgent;
  readonly report: ReportPredicate;
};

/**
 * What an agent says it holds, believed because it signed it with the key that its site's statement names.
 * @throws FleetError those of verifyStatement, WRONG_FLEET, SITE_MISSING, AGENT_UNKNOWN, REPORT_INVALID
 */
export const readReport = async (
  source: Source,
  bytes: Uint8Array,
  what: string,
  now: Date,
): Promise<AgentReport> => {
  const name = claimedAgent(bytes, what);
  const { root, agent } = await findAgent(source, name, what, now);
  const role = { keys: [parsePublicKey(agent.key)], threshold: 1 };
  const { predicate } = verifyStatement([bytes], role, PREDICATES.report, what);
  const report = parseDocument<ReportPredicate>('report-predicate', predicate, what);
  if (report.fleet !== root.fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `${what} is of fleet ${report.fleet}, this source is of ${root.fleet}`,
    );
  }
  return { name, agent, report };
};

/** The blobs of the bundles a report names, as far as the source still has them. */
export const reportBase = async (
  source: Source,
  { name, agent, report }: AgentReport,
  signal?: AbortSignal,
): Promise<Base> => {
  const channels = agent.previousChannel ? [agent.channel, agent.previousChannel] : [agent.channel];
  const holds = new Map<Digest, ReadonlySet<Digest>>();
  const unknown: Digest[] = [];
  for (const digest of report.holds) {
    let found: ReadonlySet<Digest> | undefined;
    for (const channel of channels)
      found ??= await blobsOf(source, channelRepository(channel), digest, signal);
    if (found) holds.set(digest, found);
    else unknown.push(digest);
  }
  return { name, channels: [agent.channel], holds, unknown };
};

/** Read before any signature, to know whose key to ask for; the verified text must then say the same. */
const claimedAgent = (bytes: Uint8Array, what: string): string => {
  const { payload } = parseEnvelope(bytes, what);
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, what) as {
    predicateType?: unknown;
    predicate?: { agent?: unknown } | null;
  } | null;
  if (json?.predicateType !== PREDICATES.report) {
    throw new FleetError('PREDICATE_TYPE', `${what} is no report`, {
      hint: "--for takes an agent's signed report, or a medium",
    });
  }
  const agent = json.predicate?.agent;
  if (typeof agent === 'string' && agent.split('/').length === 2 && agent.split('/').every(isName))
    return agent;
  throw new FleetError('REPORT_INVALID', `${what} names no agent`);
};

const findAgent = async (
  source: Source,
  claimed: string,
  what: string,
  now: Date,
): Promise<{ readonly root: TrustRoot; readonly agent: SiteAgent }> => {
  const [site = '', name = ''] = claimed.split('/');
  const found = await readSite(source, site);
  const blobs = routedBlobs(source, new Map(found.map((it) => [it.document.digest, it.repository])));
  const evidence = { blobs, documents: found.map(({ document }) => document), now };
  const root = await judgeRoots(evidence);
  const { agents } = await judgeSite(evidence, root, site);
  const agent = agents.find((one) => one.name === name);
  if (agent) return { root, agent };
  throw new FleetError('AGENT_UNKNOWN', `${what} is by ${claimed}, which site ${site} does not have`);
};

const blobsOf = async (
  source: Source,
  repository: string,
  digest: Digest,
  signal?: AbortSignal,
): Promise<ReadonlySet<Digest> | undefined> => {
  const blobs = source.blobs(repository);
  if ((await blobs.size(digest)) === undefined) return undefined;
  const closure = await readClosure(blobs, await readBundle(blobs, digest, signal), signal);
  return new Set(closure.map((blob) => blob.digest));
};

/** For notes: which bundles a base has that the source lost. */
export const describeUnknown = ({ name, unknown }: Base): string =>
  `${name} holds ${unknown.map(shortDigest).join(', ')}, but the source has ${
    unknown.length === 1 ? 'it' : 'them'
  } no more: blobs of that base are sent again`;
