import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { PlannedChanges } from '#bundles/schemas/types/hub-decisions';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { seesAssignment, seesWhole, type Visible } from '../../people/visible.ts';
import { diffPackages } from '../../questions/answers/compare-packages.ts';
import { formatVersion } from '../../questions/history/describe-package.ts';
import { type NamedPackage, namePackage } from '../../questions/history/name-value.ts';
import { openReleases, type Releases } from '../../questions/history/read-releases.ts';
import { readRunning, type RunningCounts, runningKey } from '../../questions/history/read-running.ts';
import type { ChangedPackage } from '../facts/changed-package.ts';
import { changesOf } from './assess.ts';
import type { GateHub } from './gate-hub.ts';

type Listed = PlannedChanges['packages'][number];

/** Packages that are listed; the others are counted. */
const PACKAGES = 100;
/** Objects of a package that are listed with their lines. */
const OBJECTS = 20;
/** Sites of a channel that are named. */
const SITES = 10;

type Asked = { readonly now: Date; readonly visible: Visible | undefined };

/**
 * Lists the changes that the promotion of a candidate would make in an environment: the environment is built from it, without signing or writing, and
 * compared with its newest releases.
 * @returns `known: false` with the reason where the environment cannot be built from it
 */
export const listCandidateChanges = async (
  hub: GateHub & Pick<Hub, 'store'>,
  { environment, candidate }: { readonly environment: string; readonly candidate: Digest },
  { now, visible, signal }: Asked & { readonly signal: AbortSignal },
): Promise<PlannedChanges> => {
  const changes = await changesOf(hub, environment, candidate, signal);
  const common = { at: formatTime(now), environment, candidate };
  if (changes.kind === 'unknown')
    return {
      ...common,
      known: false,
      why: changes.why,
      packages: [],
      more: 0,
      hidden: 0,
      others: [],
      channels: [],
    };
  const releases = await openReleases(hub);
  const moves = changes.packages.map((one) => toMove(releases, { environment, one }));
  return {
    ...common,
    known: true,
    why: null,
    ...(await describeMoves(hub, releases, moves, { environment, visible })),
    others: seesWhole(visible, environment) ? [...changes.others] : [],
  };
};

type AskedReleases = {
  readonly channel: Channel;
  /** undefined: the current one. */
  readonly from: number | undefined;
  readonly to: number;
  /** undefined: all. */
  readonly assignment: string | undefined;
};

/**
 * Lists the changes from one release of a channel to another one, older or newer.
 * @throws FleetError RELEASE_MISSING for a release that the layout does not have any more
 */
export const listReleaseChanges = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { channel, from, to, assignment }: AskedReleases,
  { now, visible }: Asked,
): Promise<PlannedChanges> => {
  const releases = await openReleases(hub);
  const past = await releases.of(channel);
  const find = (version: number | undefined) => {
    const found = past.find((one) => (version === undefined ? one.current : one.version === version));
    if (found) return found.packages;
    throw new FleetError('RELEASE_MISSING', `${formatChannel(channel)} has no release ${version ?? ''}`, {
      subject: formatChannel(channel),
      hint: 'List them with: fleet-scheduler releases list',
    });
  };
  const [before, after] = [find(from), find(to)];
  const ids = [...new Set([...before.keys(), ...after.keys()])]
    .filter((id) => before.get(id)?.package !== after.get(id)?.package)
    .filter((id) => assignment === undefined || id === assignment)
    .toSorted();
  const { environment, clusterType } = channel;
  const moves = ids.map((id): Move => {
    const [old, next] = [before.get(id), after.get(id)];
    return {
      clusterType,
      assignment: id,
      workload: (next ?? old)?.workload ?? null,
      before: old ?? null,
      after: next
        ? {
            package: next.package,
            name: () => namePackage(releases, channel, id, next.package),
            files: async () => (await releases.packagesOf(next.bundle)).get(id) ?? new Map(),
          }
        : null,
    };
  });
  return {
    at: formatTime(now),
    environment,
    candidate: null,
    known: true,
    why: null,
    ...(await describeMoves(hub, releases, moves, { environment, visible })),
    others: [],
  };
};

/** An assignment with its package before and after. */
type Move = Pick<ChangedPackage, 'clusterType' | 'assignment' | 'workload' | 'before'> & {
  readonly after: {
    readonly package: Digest;
    readonly name: () => Promise<NamedPackage>;
    readonly files: () => Promise<ReadonlyMap<string, Buffer>>;
  } | null;
};

const toMove = (
  releases: Releases,
  { environment, one }: { readonly environment: string; readonly one: ChangedPackage },
): Move => {
  const { clusterType, assignment, after } = one;
  if (after === null) return { ...one, after };
  const { package: digest, version, files } = after;
  // A package that a release has already is named as there.
  const name = async (): Promise<NamedPackage> => {
    const known = await namePackage(releases, { environment, clusterType }, assignment, digest);
    return known.version === null ? { package: digest, name: formatVersion(version), version } : known;
  };
  return { ...one, after: { package: digest, name, files: async () => files } };
};

type Place = { readonly environment: string; readonly visible: Visible | undefined };

const describeMoves = async (
  { store }: Pick<Hub, 'store'>,
  releases: Releases,
  moves: readonly Move[],
  { environment, visible }: Place,
): Promise<Pick<PlannedChanges, 'packages' | 'more' | 'hidden' | 'channels'>> => {
  const seen = moves.filter(({ assignment }) => seesAssignment(visible, environment, assignment));
  const running = await readRunning(store.db, [environment]);
  const packages: Listed[] = [];
  for (const move of seen.slice(0, PACKAGES))
    packages.push(await describeMove(releases, running, { environment, move }));
  const types = [...new Set(seen.map(({ clusterType }) => clusterType))];
  const channels = [];
  for (const clusterType of types) channels.push(await reachOf(store, { environment, clusterType }));
  return { packages, more: seen.length - packages.length, hidden: moves.length - seen.length, channels };
};

const describeMove = async (
  releases: Releases,
  { running }: RunningCounts,
  { environment, move }: { readonly environment: string; readonly move: Move },
): Promise<Listed> => {
  const { clusterType, assignment, workload, before, after } = move;
  const channel = { environment, clusterType };
  const [old, next] = [
    before === null ? null : await namePackage(releases, channel, assignment, before.package),
    after === null ? null : await after.name(),
  ];
  const differences = await differencesOf(releases, move);
  const { objects = [], values = [] } = differences ?? {};
  const runs = before === null ? undefined : running.get(runningKey(channel, assignment, before.package));
  return {
    clusterType,
    assignment,
    workload,
    outcome: outcomeOf(old, next),
    before: old,
    after: next,
    agents: runs?.agents ?? 0,
    values: [...values],
    objects: objects.slice(0, OBJECTS),
    moreObjects: Math.max(0, objects.length - OBJECTS),
    compared: differences !== null,
  };
};

/** null: the content of the older package was collected. */
const differencesOf = async (
  releases: Releases,
  { assignment, before, after }: Move,
): Promise<ReturnType<typeof diffPackages> | null> => {
  if (before?.package === after?.package) return { objects: [], values: [] };
  try {
    const old = before === null ? undefined : (await releases.packagesOf(before.bundle)).get(assignment);
    return diffPackages(old ?? new Map(), (await after?.files()) ?? new Map());
  } catch (error) {
    if (isFleetError(error)) return null;
    throw error;
  }
};

const outcomeOf = (before: NamedPackage | null, after: NamedPackage | null): Listed['outcome'] => {
  if (before === null) return 'added';
  if (after === null) return 'removed';
  if (before.package === after.package) return 'settings';
  const said = ({ version }: NamedPackage): string =>
    JSON.stringify(defined({ ...version, name: undefined, ref: undefined }));
  return said(before) === said(after) ? 'configuration' : 'version';
};

/** The agents that follow a channel, and their sites. */
const reachOf = async (
  { db }: Pick<Hub, 'store'>['store'],
  channel: Channel,
): Promise<PlannedChanges['channels'][number]> => {
  const sites = await db
    .selectFrom('agent')
    .select(({ fn }) => ['site', fn.countAll<number>().as('agents')])
    .where('environment', '=', channel.environment)
    .where('cluster_type', '=', channel.clusterType)
    .where('revoked_at', 'is', null)
    .groupBy('site')
    .orderBy('site')
    .execute();
  return {
    channel: formatChannel(channel),
    agents: sites.reduce((sum, { agents }) => sum + agents, 0),
    sites: sites.length,
    first: sites.slice(0, SITES).map(({ site }) => site),
  };
};
