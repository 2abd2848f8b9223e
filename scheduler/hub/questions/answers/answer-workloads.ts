import { compareBytes, type Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { sum } from '#bundles/sum';
import { paragraph, type Printed } from '#cli/format-table';
import type { Hub } from '../../hub.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { seesAssignment, seesEnvironment, type Visible } from '../../people/visible.ts';
import { inChainOrder, readLinkStates } from '../state/link-states.ts';
import type { Answer } from './answer-history.ts';
import type { Version } from '../history/describe-package.ts';
import { namePackage } from '../history/name-value.ts';
import { openReleases, type Releases } from '../history/read-releases.ts';
import { readRunning, type RunningCounts } from '../history/read-running.ts';
import { readTroubles, type Trouble } from '../history/read-troubles.ts';

/** A version of a workload in an environment. Packages of several cluster types may have the same name. */
export type CellVersion = {
  /** 'order-api 2.4.1 (a1b2c3d)' */
  readonly name: string;
  /** Tag, chart, commit and images; null: no release in the layout has it. */
  readonly version: Version | null;
  readonly packages: readonly Digest[];
  /** Agents that run it. */
  readonly agents: number;
  /** The newest releases with it; empty: no current release has it. */
  readonly releases: readonly { readonly channel: string; readonly version: number }[];
};

export type WorkloadCell = {
  readonly environment: string;
  readonly assignments: readonly string[];
  /** Agents of the channels that release or run it. */
  readonly agents: number;
  readonly failed: number;
  readonly drifted: number;
  /** Versions of the newest releases first, then by number of agents. */
  readonly versions: readonly CellVersion[];
};

export type WorkloadRow = {
  /** The assignment where its package names no workload. */
  readonly workload: string;
  /** Only of environments that have or had it. */
  readonly cells: readonly WorkloadCell[];
};

export type WorkloadsAsked = {
  readonly workload?: string | undefined;
  readonly environment?: string | undefined;
  readonly page: Page;
  /** Limits of what the caller may see; undefined: no limits. */
  readonly visible?: Visible | undefined;
};

/**
 * The versions of each workload in each environment: in the newest releases and at the agents. The limit of a page counts
 * workloads. @throws FleetError USAGE for the cursor; and as listReleases
 */
export const answerWorkloads = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { workload, environment, page, visible }: WorkloadsAsked,
  now: Date,
): Promise<Answer> => {
  const { db } = hub.store;
  const releases = await openReleases(hub);
  const counts = await readRunning(db, environment === undefined ? undefined : [environment]);
  const found = await findWorkloads(releases, counts, { environment, visible });
  const names = [...found.keys()]
    .filter((name) => workload === undefined || name === workload)
    .toSorted(compareBytes);
  const after = page.cursor === undefined ? undefined : decodeCursor(page.cursor, [''] as const)[0];
  const rest = names.filter((name) => after === undefined || compareBytes(name, after) > 0);
  const { rows, next } = cutPage(rest.slice(0, page.limit + 1), page.limit, (name) => [name]);
  const troubles = await readTroubles(db);
  const workloads: WorkloadRow[] = [];
  for (const name of rows) {
    const cells = Map.groupBy(found.get(name)?.values() ?? [], ({ channel }) => channel.environment);
    workloads.push({
      workload: name,
      cells: await Promise.all(
        [...cells].map(([of, places]) => cellOf(releases, of, places, counts, troubles)),
      ),
    });
  }
  const environments = inChainOrder(
    [
      ...new Set([...releases.channels(), ...channelsOf(counts)].map((channel) => channel.environment)),
    ].filter((name) => (environment === undefined || name === environment) && seesEnvironment(visible, name)),
    await readLinkStates(db),
  );
  return {
    lines: [
      ...(workloads.length === 0 ? ['No workload is released.'] : workloads.flatMap(describeWorkload)),
      ...(next === null ? [] : ['', `More: --cursor ${next}`]),
    ],
    json: { fleet: hub.store.fleet, at: formatTime(now), environments, workloads, next },
  };
};

/** An assignment of a channel, the package that its newest release has, and the ones that agents run. */
type Place = {
  readonly channel: Channel;
  readonly assignment: string;
  readonly wanted: { readonly package: Digest; readonly version: number } | undefined;
  readonly running: Map<Digest, number>;
};

/** Places by workload, and by '<channel>/<assignment>'. */
const findWorkloads = async (
  releases: Releases,
  { running }: RunningCounts,
  { environment, visible }: Pick<WorkloadsAsked, 'environment' | 'visible'>,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Place>>> => {
  const found = new Map<string, Map<string, Place>>();
  const names = new Map<string, string>();
  const add = (name: string, place: Place): Place => {
    const places = found.get(name) ?? new Map<string, Place>();
    found.set(name, places);
    const key = `${formatChannel(place.channel)}/${place.assignment}`;
    const known = places.get(key) ?? place;
    places.set(key, known);
    return known;
  };
  for (const channel of releases.channels()) {
    if (environment !== undefined && channel.environment !== environment) continue;
    for (const { current, version, packages } of await releases.of(channel))
      for (const [assignment, { package: digest, workload }] of packages) {
        const key = `${formatChannel(channel)}/${assignment}`;
        const name = workload ?? assignment;
        if (!names.has(key)) names.set(key, name);
        if (current && seesAssignment(visible, channel.environment, assignment))
          add(name, { channel, assignment, wanted: { package: digest, version }, running: new Map() });
      }
  }
  for (const { environment: of, clusterType, assignment, package: digest, agents } of running.values()) {
    if (!seesAssignment(visible, of, assignment)) continue;
    const channel = { environment: of, clusterType };
    const name = names.get(`${formatChannel(channel)}/${assignment}`) ?? assignment;
    const place = add(name, { channel, assignment, wanted: undefined, running: new Map() });
    place.running.set(digest, agents);
  }
  return found;
};

const cellOf = async (
  releases: Releases,
  environment: string,
  places: readonly Place[],
  { agents }: RunningCounts,
  troubles: ReadonlyMap<string, Trouble>,
): Promise<WorkloadCell> => {
  const versions = new Map<string, CellVersion>();
  for (const { channel, assignment, wanted, running } of places)
    for (const digest of new Set([...(wanted ? [wanted.package] : []), ...running.keys()])) {
      const { name, version } = await namePackage(releases, channel, assignment, digest);
      const known = versions.get(name) ?? { name, version, packages: [], agents: 0, releases: [] };
      versions.set(name, {
        name,
        version: known.version,
        packages: [...new Set([...known.packages, digest])],
        agents: known.agents + (running.get(digest) ?? 0),
        releases:
          wanted?.package === digest
            ? [...known.releases, { channel: formatChannel(channel), version: wanted.version }]
            : known.releases,
      });
    }
  const channels = new Set(places.map(({ channel }) => formatChannel(channel)));
  const trouble = places.map(({ channel, assignment }) =>
    troubles.get(`${formatChannel(channel)}/${assignment}`),
  );
  return {
    environment,
    assignments: [...new Set(places.map(({ assignment }) => assignment))].toSorted(compareBytes),
    agents: sum([...channels].map((channel) => agents.get(channel) ?? 0)),
    failed: sum(trouble.map((one) => one?.failed ?? 0)),
    drifted: sum(trouble.map((one) => one?.drifted ?? 0)),
    versions: [...versions.values()].toSorted(
      (a, b) =>
        Number(b.releases.length > 0) - Number(a.releases.length > 0) ||
        b.agents - a.agents ||
        compareBytes(a.name, b.name),
    ),
  };
};

const channelsOf = ({ agents }: RunningCounts): readonly Pick<Channel, 'environment'>[] =>
  [...agents.keys()].map((name) => ({ environment: name.split('/')[0] ?? '' }));

const describeWorkload = ({ workload, cells }: WorkloadRow): readonly Printed[] => [
  paragraph(workload),
  ...cells.flatMap(({ environment, agents, failed, drifted, versions }) =>
    versions.map(({ name, agents: running, releases }, at) =>
      paragraph(
        [
          `${environment}  ${name}`,
          `runs at ${running} of ${agents} agents`,
          ...(releases.length === 0 ? ['in no current release'] : []),
          ...(at === 0 && failed > 0 ? [`${failed} failed`] : []),
          ...(at === 0 && drifted > 0 ? [`${drifted} drifted`] : []),
        ].join(', '),
        2,
      ),
    ),
  ),
];
