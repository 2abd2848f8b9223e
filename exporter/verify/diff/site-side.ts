import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { OpenOptions } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { newestReports, readReports, readStatement } from '../../source/base/read-bases.ts';
import { readReleaseBase } from '../../source/base/release-base.ts';
import { type AgentReport, describeUnknown, readReport, reportBase } from '../../source/base/report-base.ts';
import { siteAgents } from '../../source/base/site-agents.ts';
import { readSiteReports } from '../../source/base/site-base.ts';
import type { Source } from '../../source/source.ts';
import type { Side, SideBundle } from './side.ts';

export type SiteRequest = {
  readonly site: string;
  /** A report, or a medium with reports; undefined: the newest imported reports. */
  readonly report: string | undefined;
  readonly open: OpenOptions;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

/**
 * Returns the state of a site from the newest report of each of its agents: the release it accepted, and the blobs of all bundles
 * that are complete there. The content of those bundles comes from the source.
 * @throws FleetError MEDIUM_EMPTY if no agent of the site reported; as verifyReport for an invalid report
 */
export const siteSide = async (source: Source, request: SiteRequest): Promise<Side> => {
  const { site, now, signal } = request;
  const agentsOf = siteAgents(source, now);
  const { reports, notes } = await findReports(source, request, agentsOf);
  const newest = newestReports(reports).filter(({ name }) => name.split('/')[0] === site);
  if (newest.length === 0) {
    throw new FleetError(
      'MEDIUM_EMPTY',
      `there is no report of site ${site} in ${request.report ?? source.name}`,
      {
        hint: 'Give a report or a stick that came back with --report',
      },
    );
  }
  const releases = new Map<string, number | undefined>();
  const bundles = new Map<Digest, SideBundle>();
  const holds = new Set<Digest>();
  const allNotes = [...notes];
  for (const one of newest) {
    const channel = formatChannel(one.agent.channel);
    releases.set(channel, one.report.floors.release);
    const base = await reportBase(source, one, signal);
    for (const set of base.holds.values()) for (const digest of set) holds.add(digest);
    if (base.unknown.length > 0) allNotes.push(describeUnknown(base));
    for (const bundle of await runningBundles(source, one, [...base.holds.keys()], allNotes, signal))
      bundles.set(bundle.digest, bundle);
  }
  return {
    name: `site ${site}`,
    releases,
    bundles: [...bundles.values()],
    sites: undefined,
    holds,
    patches: new Map(),
    notes: allNotes,
    [Symbol.asyncDispose]: () => source[Symbol.asyncDispose](),
  };
};

const findReports = async (
  source: Source,
  { site, report, open }: SiteRequest,
  agentsOf: ReturnType<typeof siteAgents>,
): Promise<{ readonly reports: readonly AgentReport[]; readonly notes: readonly string[] }> => {
  if (report === undefined) return readSiteReports(source, site, agentsOf);
  const statement = await readStatement(report);
  if (statement) return { reports: [await readReport(agentsOf, statement, report)], notes: [] };
  await using medium = await openMedium(report, open);
  return { reports: await readReports(agentsOf, medium), notes: [] };
};

/**
 * Returns the bundles of the agent's accepted release; if that release is no longer available, the bundle that the agent holds. Empty for
 * an agent that has accepted nothing.
 */
const runningBundles = async (
  source: Source,
  { name, agent, report }: AgentReport,
  held: readonly Digest[],
  notes: string[],
  signal: AbortSignal | undefined,
): Promise<readonly SideBundle[]> => {
  const { channel } = agent;
  const version = report.floors.release;
  if (version === 0) return [];
  const blobs = source.blobs(channelRepository(channel));
  const toBundle = async (digest: Digest): Promise<SideBundle> => ({
    channel: formatChannel(channel),
    kind: (await readBundle(blobs, digest, signal)).kind,
    digest,
    blobs,
  });
  try {
    const { holds } = await readReleaseBase(source, channel, version, signal);
    return await Promise.all([...holds.keys()].map(toBundle));
  } catch (error) {
    if (!isFleetError(error, 'CHANNEL_MISSING')) throw error;
    // A bundle of its former channel does not run any more.
    const here = await Promise.all(held.map(async (digest) => (await blobs.size(digest)) !== undefined));
    const bundles = await Promise.all(held.filter((_, index) => here[index]).map(toBundle));
    const alone = bundles.filter(({ kind }) => bundles.filter((other) => other.kind === kind).length === 1);
    const what = alone.length > 0 ? 'the bundle that it holds is compared' : 'its content cannot be shown';
    notes.push(`${name} is at release ${version}, which ${source.name} does not have any more: ${what}`);
    return alone;
  }
};
