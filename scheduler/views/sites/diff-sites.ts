import { FleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import type { Hub } from '../../hub/hub.ts';
import { channelOf, labelsOf } from '../../hub/sites/agent-record.ts';
import { siteValuesOf } from '../../hub/sites/issue-site.ts';
import { readChannelLayers } from '../../hub/sites/read-channel-layers.ts';
import type { AgentRow } from '../../hub/store/tables.ts';
import { layeredAgent } from '../../plan/compose/layered-agent.ts';
import {
  type ChannelLayers,
  channelLayers,
  layersOfPlatform,
} from '../../plan/validate/sites/channel-layers.ts';
import { describeFaults, type SiteFinding } from '../../plan/validate/sites/describe-faults.ts';
import { judgePlaces } from '../../plan/validate/sites/judge-places.ts';
import type { SitePlace } from '../../plan/validate/sites/site-places.ts';
import { findRoot, sourcesOf } from '../../load/load-platform.ts';
import { environmentsOf } from '../../load/list-environments.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import { createProblems, throwProblems } from '../../model/problems.ts';
import type { EnvironmentDiff } from '../diff/compare-environments.ts';
import { compareViews, viewOrProblems } from '../diff/compare-views.ts';
import type { DeliveredDiffOptions } from '../diff/diff-delivered.ts';
import { viewBuilt } from '../diff/view-environment.ts';
import { viewReleases } from '../diff/view-releases.ts';
import { type BuiltEnvironment, buildEnvironment } from '../build-environment.ts';
import { type PackageOutcomes, type TouchedAgent, touchedAssignments } from './touched-agents.ts';

export type SitesDiff = {
  /** Every agent that was asked for, also those that stay as they are. */
  readonly agents: readonly TouchedAgent[];
  /** Values that would be missing or would not fit, and ties. */
  readonly findings: readonly SiteFinding[];
};

type Options = DeliveredDiffOptions;

/**
 * Compares the working repository with what sites have now: the newest release of each agent's channel, and the values of its statement. Of an
 * environment that is promoted to it is the state that a promotion would bring.
 * @param sites undefined: all @throws FleetError SITE_MISSING for an unknown site; the platform's problems
 */
export const diffSites = async (
  options: Options,
  hub: Hub,
  sites: readonly string[] | undefined,
): Promise<SitesDiff> => {
  const { rows, documents } = await readAgents(hub, sites, options.environments);
  const builds = await buildAll(options, [...new Set(rows.map(({ environment }) => environment))]);
  const after = channelsOf(builds);
  const { layers: before, faults } = await readChannelLayers(hub, rows.map(channelOf));
  const [fault] = faults;
  if (fault) throw fault;
  const packages = await comparePackages(options, hub, builds);
  const agents: TouchedAgent[] = [];
  const places: SitePlace[] = [];
  for (const row of rows) {
    const channel = formatChannel(channelOf(row));
    const document = documents.get(row.site) ?? siteValuesOf(undefined, hub.store.fleet, row.site);
    const next = after.get(channel);
    const agent = layeredAgent({ ...row, labels: labelsOf(row) }, next?.released);
    const composed = next?.compose(agent).document;
    const { [row.name]: _, ...others } = document.composed ?? {};
    const changed = {
      configs: next?.configs ?? [],
      document: { ...document, composed: composed ? { ...others, [row.name]: composed } : others },
    };
    agents.push({
      site: row.site,
      agent: row.name,
      channel,
      assignments: touchedAssignments(row.name, {
        before: { configs: before.get(channel)?.configs ?? [], document },
        after: changed,
        packages: packages.get(channel) ?? new Map(),
      }),
    });
    places.push({ agent, channels: [channel], document, known: 'enrolled' });
  }
  const found = (await judgePlaces(places, after)).filter(({ kind }) => kind !== 'untaken');
  return { agents, findings: describeFaults(found, (channel) => before.get(channel)?.configs ?? []) };
};

/** How the packages of channels differ from their newest releases: by their objects, as `diff --against release` compares them. */
const comparePackages = async (
  { signal }: Pick<Options, 'signal'>,
  { layout: directory }: Pick<Hub, 'layout'>,
  builds: readonly BuiltEnvironment[],
): Promise<ReadonlyMap<string, PackageOutcomes>> => {
  const layout = await openLayout(directory);
  const diffs: EnvironmentDiff[] = [];
  for (const build of builds.filter(({ bundles }) => bundles.length > 0)) {
    signal.throwIfAborted();
    const { environment } = build.platform;
    const before = await viewOrProblems(environment, () => viewReleases(layout, environment, signal));
    diffs.push(compareViews(environment, before, viewBuilt(build, true)));
  }
  throwProblems(
    diffs.flatMap(({ problems }) => problems),
    'the platform',
  );
  return new Map(
    diffs.flatMap(({ environment, clusterTypes }) =>
      clusterTypes.map(
        ({ clusterType, assignments }) =>
          [
            formatChannel({ environment, clusterType }),
            new Map(assignments.map(({ assignment, outcome }) => [assignment, outcome])),
          ] as const,
      ),
    ),
  );
};

const readAgents = async (
  { store: { db, fleet } }: Hub,
  sites: readonly string[] | undefined,
  environments: readonly string[] | undefined,
) => {
  const known = await db.selectFrom('site').selectAll().orderBy('name').execute();
  const names = known.map(({ name }) => name);
  const unknown = sites?.find((site) => !names.includes(site));
  if (unknown !== undefined)
    throw new FleetError('SITE_MISSING', `there is no site ${unknown}`, {
      hint: `${didYouMean(unknown, names) ?? ''}${names.length === 0 ? 'No site is enrolled' : `There is ${nameSome(names)}`}`,
    });
  const all: readonly AgentRow[] = await db
    .selectFrom('agent')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('id')
    .execute();
  return {
    rows: all.filter(
      ({ site, environment }) =>
        (sites === undefined || sites.includes(site)) &&
        (environments === undefined || environments.includes(environment)),
    ),
    documents: new Map(known.map((row) => [row.name, siteValuesOf(row, fleet, row.name)])),
  };
};

type BuildOptions = PlatformOptions & { readonly fleet?: string };

/** The layers and bundles of environments as a build would make them, by formatChannel. An unknown environment has none. */
export const buildChannels = async (
  options: BuildOptions,
  environments: readonly string[] | undefined,
): Promise<ReadonlyMap<string, ChannelLayers>> => channelsOf(await buildAll(options, environments));

const buildAll = async (
  options: BuildOptions,
  environments: readonly string[] | undefined,
): Promise<readonly BuiltEnvironment[]> => {
  const sources = options.sources ?? sourcesOf(options);
  const known = environmentsOf(await findRoot(options.platform, sources, createProblems()));
  const builds: BuiltEnvironment[] = [];
  for (const environment of known.filter((one) => environments === undefined || environments.includes(one)))
    builds.push(await buildEnvironment(options, sources, environment));
  return builds;
};

const channelsOf = (builds: readonly BuiltEnvironment[]): ReadonlyMap<string, ChannelLayers> =>
  new Map(
    builds.flatMap(({ platform, bundles }) => {
      const released = layersOfPlatform(platform);
      return bundles.map(({ clusterType, bundle }) => {
        const channel = { environment: platform.environment, clusterType: clusterType.name };
        return [formatChannel(channel), channelLayers(channel, [bundle.config], released)] as const;
      });
    }),
  );
