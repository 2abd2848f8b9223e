import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { type ClosureBlob, readClosure } from '#bundles/formats/bundle/read-closure';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { findManifest } from '#bundles/formats/layout/read-manifest';
import { type Base, chooseBlobs, knowledgeOf } from '#bundles/formats/medium/choose-blobs';
import { type Channel, formatChannel } from '#bundles/names';
import type { NextMedium } from '#bundles/schemas/types/hub-decisions';
import { sum } from '#bundles/sum';
import { formatTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { seesWhole, type Visible } from '../../people/visible.ts';
import { namePackage } from '../history/name-value.ts';
import { openReleases, type PastRelease } from '../history/read-releases.ts';
import { isCarried } from '../state/is-carried.ts';
import { isIn } from '../state/part.ts';

type Asked = {
  readonly channel: Channel;
  /** undefined: all sites. */
  readonly site: string | undefined;
  readonly visible: Visible | undefined;
};

/** Packages that an answer names; the others are counted. */
const PACKAGES = 50;

/**
 * The content and size of a medium with the newest release of a channel, for the agents that only media reach and that have not said that
 * they imported it. A blob is left out where each of them has it, by the rule of fleet-export: they have the bundles of the release that
 * they imported last. Statements, values and receipts of sites come in addition.
 * @throws FleetError CHANNEL_MISSING for a channel without a release, or that the caller may not read
 */
export const planMedium = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { channel, site, visible }: Asked,
  now: Date,
): Promise<NextMedium> => {
  const name = formatChannel(channel);
  const releases = await openReleases(hub);
  const past = seesWhole(visible, channel.environment) ? await releases.of(channel) : [];
  const newest = past.find(({ current }) => current);
  if (newest === undefined)
    throw new FleetError('CHANNEL_MISSING', `${name} has no release`, {
      subject: name,
      hint: 'Build one first, or check the name',
    });
  const layout = await openOrStartLayout(hub.layout);
  const agents = (await readCarried(hub, channel, site)).filter(({ release }) => release !== newest.version);
  const accepted = new Map(past.map((one) => [one.version, one]));
  // Thousands of agents have few releases: the content of each is read once.
  const known = new Map<number, Promise<Content>>();
  const contentOf = (one: PastRelease): Promise<Content> => {
    const found = known.get(one.version) ?? readContent(layout, one);
    known.set(one.version, found);
    return found;
  };
  const bases: Base[] = [];
  for (const { id, release } of agents) {
    const one = release === null ? undefined : accepted.get(release);
    if (one) bases.push({ name: id, channel, agent: id, ...(await contentOf(one)) });
  }
  const bundles = [];
  for (const digest of bundlesIn(newest)) {
    const bundle = await readBundle(layout.blobs, digest);
    bundles.push({ channel, closure: await readClosure(layout.blobs, bundle) });
  }
  const readers = agents.map(({ id }) => ({ agent: id, channel }));
  const chosen = chooseBlobs(bundles, { bases, readers, asked: new Map() });
  const blobs = new Map(bundles.flatMap(({ closure }) => closure).map((blob) => [blob.digest, blob]));
  const bytesOf = (test: (blob: ClosureBlob) => boolean): number =>
    sum([...blobs.values()].filter(test).map(({ size }) => size));
  const { silent } = knowledgeOf({ channel }, { bases, readers });
  const unknown = bases.length === 0 ? agents.map(({ id }) => id) : silent;
  const releasesHad = [...new Set(agents.map(({ release }) => release))].map((release) =>
    release === null ? undefined : accepted.get(release),
  );
  const isHad = (assignment: string, digest: Digest): boolean =>
    unknown.length === 0 && releasesHad.every((one) => one?.packages.get(assignment)?.package === digest);
  const named = [];
  for (const [assignment, one] of [...newest.packages].slice(0, PACKAGES)) {
    const { name: of, package: digest } = await namePackage(releases, channel, assignment, one.package);
    named.push({
      assignment,
      workload: one.workload,
      name: of,
      package: digest,
      isNew: !isHad(assignment, digest),
    });
  }
  return {
    at: formatTime(now),
    channel: name,
    release: newest.version,
    sites: new Set(agents.map(({ site }) => site)).size,
    agents: agents.length,
    carried: bytesOf(({ digest }) => chosen.has(digest)),
    assumed: bytesOf(({ digest }) => !chosen.has(digest)),
    unknown: unknown.slice(0, NAMED),
    moreUnknown: Math.max(0, unknown.length - NAMED),
    packages: named,
    morePackages: Math.max(0, newest.packages.size - PACKAGES),
  };
};

/** Agents that an answer names; the others are counted. */
const NAMED = 10;

const bundlesIn = ({ packages }: PastRelease): readonly Digest[] => [
  ...new Set([...packages.values()].map(({ bundle }) => bundle)),
];

/** The agents of a channel that only media reach, and the release that they said they imported. */
const readCarried = async (
  { store: { db } }: Pick<Hub, 'store'>,
  { environment, clusterType }: Channel,
  site: string | undefined,
): Promise<readonly { readonly id: string; readonly site: string; readonly release: number | null }[]> => {
  const rows = await db
    .selectFrom('agent')
    .select(['id', 'site', 'release_channel', 'release_version'])
    .where(isIn({ environment, clusterType, site }))
    .where(isCarried)
    .orderBy('id')
    .execute();
  const name = formatChannel({ environment, clusterType });
  return rows.map((row) => ({
    id: row.id,
    site: row.site,
    release: row.release_channel === name ? row.release_version : null,
  }));
};

type Content = Pick<Base, 'holds' | 'unknown'>;

/** Blobs of a release that agents imported. A bundle that the layout lost is sent again. */
const readContent = async ({ blobs }: Layout, release: PastRelease): Promise<Content> => {
  const holds = new Map<Digest, ReadonlySet<Digest>>();
  const unknown: Digest[] = [];
  for (const digest of bundlesIn(release)) {
    if (!(await findManifest(blobs, digest))) {
      unknown.push(digest);
      continue;
    }
    const closure = await readClosure(blobs, await readBundle(blobs, digest));
    holds.set(digest, new Set(closure.map((blob) => blob.digest)));
  }
  return { holds, unknown };
};
