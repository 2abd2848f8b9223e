import { compareBytes, type Digest, shortDigest } from '#bundles/digest';
import { FleetError, formatError, isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import type { TrustRoot } from '#bundles/trust/root/root';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { readLineage, type ReleaseLineage } from '../../../load/releases/read-lineage.ts';
import { bundlesOf, type StoredRelease, readRelease } from '../../../load/releases/read-release.ts';
import { type StatedRelease, withNewestStatement } from '../../../load/releases/newest-statement.ts';
import { readOnce } from '../../../load/releases/read-once.ts';
import { findRevoked, readRevocations } from '../../../load/releases/revocation-list.ts';
import { listReleases } from '../../../release/reissue/list-releases.ts';
import type { ChannelFacts } from './facts.ts';

/** Current releases of the channels of an environment. */
export type ChannelNow = {
  readonly channel: Channel;
  readonly release: StatedRelease | undefined;
  /** undefined: no release, or one that does not name a candidate. */
  readonly lineage: ReleaseLineage | undefined;
  /** For a person: 'release 7 of candidate sha256:...', 'no release'. */
  readonly text: string;
};

/** @param followed channels that agents follow, which may have no release @throws FleetError ABORTED */
export const readChannels = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  environment: string,
  followed: readonly Channel[] = [],
): Promise<readonly ChannelNow[]> => {
  const names = new Set([
    ...followed.map(formatChannel),
    ...channelsIn(layout).filter((name) => name.startsWith(`${environment}/`)),
  ]);
  const channels: ChannelNow[] = [];
  for (const name of [...names].toSorted(compareBytes))
    channels.push(
      await readChannel(layout, roots, name).catch((error: unknown) => refusedChannel(name, error)),
    );
  return channels;
};

/** @throws FleetError ABORTED */
const refusedChannel = (name: string, error: unknown): ChannelNow => {
  if (!isFleetError(error) || error.code === 'ABORTED') throw error;
  const text = `refused: ${formatError(error)}`;
  return { channel: parseChannel(name), release: undefined, lineage: undefined, text };
};

const readChannel = (layout: Layout, roots: readonly TrustRoot[], name: string): Promise<ChannelNow> =>
  readOnce({ layout, roots, repository: name, what: 'channel' }, async () => {
    const channel = parseChannel(name);
    const found = await readRelease(layout, channel, roots);
    if (!found) return { channel, release: undefined, lineage: undefined, text: 'no release' };
    const release = await withNewestStatement(layout, found);
    const list = await readRevocations(layout, roots, channel, release);
    const revoked = findRevoked(list, bundlesOf(release));
    if (revoked)
      return { channel, release, lineage: undefined, text: `revoked at ${revoked.at}: ${revoked.reason}` };
    const lineage = await readLineage(layout, release);
    const of = lineage
      ? `candidate ${shortDigest(lineage.candidate)}`
      : 'an older version, which names no candidate';
    return { channel, release, lineage, text: `release ${release.predicate.version} of ${of}` };
  });

/**
 * The channels that count for a candidate: those that agents follow, and those that hold it. Without any of either, all of the
 * environment, none of which holds it.
 */
export const channelFacts = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  channels: readonly ChannelNow[],
  { shared, followed }: { readonly shared: Digest; readonly followed: readonly Channel[] },
): Promise<readonly ChannelFacts[]> => {
  const names = new Set(followed.map(formatChannel));
  const counted = channels.filter(
    ({ channel, lineage }) => lineage?.shared === shared || names.has(formatChannel(channel)),
  );
  const facts: ChannelFacts[] = [];
  for (const { channel, release, lineage, text } of counted.length > 0 ? counted : channels) {
    const restated = release?.restated && lineage ? { bundles: bundlesOf(release), lineage } : undefined;
    const since =
      lineage?.shared === shared ? await firstRelease(layout, roots, channel, { shared, restated }) : null;
    facts.push({ channel: formatChannel(channel), since, now: text });
  }
  return facts;
};

/**
 * The oldest of the unbroken run of releases of the candidate that ends with the current one, as far as the layout has them. A
 * release with held assignments is in no run with one without: soak does not begin before all of the candidate is released.
 * Where the candidate gave the bundle of the current release again, releases of that bundle are of the candidate: its content was
 * there since.
 */
const firstRelease = (
  layout: Layout,
  roots: readonly TrustRoot[],
  channel: Channel,
  wanted: Wanted,
): Promise<NonNullable<ChannelFacts['since']>> =>
  readOnce(
    { layout, roots, repository: formatChannel(channel), what: `first release of ${wanted.shared}` },
    () => findFirst(layout, roots, channel, wanted),
  );

type Wanted = {
  readonly shared: Digest;
  /** The bundles of the current release and its newest statement, if the candidate gave them again. */
  readonly restated: { readonly bundles: readonly Digest[]; readonly lineage: ReleaseLineage } | undefined;
};

const findFirst: typeof firstRelease = async (layout, roots, channel, { shared, restated }) => {
  let first: StoredRelease | undefined;
  let isHeld: boolean | undefined = restated && restated.lineage.held.length > 0;
  for (const { release } of await listReleases(layout, channel, roots)) {
    if (first && release.predicate.version !== first.predicate.version - 1) break;
    const lineage = await readLineage(layout, release);
    const isRestated = restated && bundlesOf(release).every((bundle) => restated.bundles.includes(bundle));
    if (lineage?.shared !== shared && !isRestated) break;
    // What the release held was not tried with it: the newest statement is the first without.
    if (!first && restated && lineage && isHeld !== lineage.held.length > 0)
      return { version: release.predicate.version, issuedAt: restated.lineage.builtAt };
    if (!lineage) break;
    isHeld ??= lineage.held.length > 0;
    if (isHeld !== lineage.held.length > 0) break;
    first = release;
  }
  if (!first) throw new FleetError('RELEASE_MISSING', `${formatChannel(channel)} lost its release`);
  const { version, issuedAt } = first.predicate;
  return { version, issuedAt };
};

/** '<channel>: <assignment>: <code>: <why>' for each assignment that the releases of a candidate hold. */
export const heldFacts = (channels: readonly ChannelNow[], shared: Digest): readonly string[] =>
  channels.flatMap(({ channel, lineage }) =>
    lineage?.shared === shared
      ? lineage.held.map(
          ({ assignment, code, message }) => `${formatChannel(channel)}: ${assignment}: ${code}: ${message}`,
        )
      : [],
  );
