import { packageNames } from '#bundles/formats/bundle/package-names';
import { compareBytes } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { Bases } from '../source/base/base.ts';
import { readMediumBases } from '../source/base/medium-base.ts';
import { readReleaseBundles } from '../source/base/release-base.ts';
import type { Offer, OfferedChannel } from '../source/offer.ts';
import type { Source } from '../source/source.ts';

/** Packages that a release removes from an agent. */
export type ChannelRemovals = {
  readonly channel: Channel;
  /** Version of the release on the medium. */
  readonly version: number;
  /** The holder of the packages: 'plant-7/line-1', 'release 12 of prod/kiosk', or the path of a medium. */
  readonly from: string;
  /** Sorted. */
  readonly packages: readonly string[];
};

type Known = { readonly name: string; readonly packages: ReadonlySet<string> };

/**
 * Returns the packages that each release removes, compared with the content of its readers (reports, `--for`), otherwise with the earlier
 * content of the medium, otherwise, in a layout, with the previous release.
 * @throws FleetError BUNDLE_FORMAT, MISSING_BLOB, DIGEST_MISMATCH for an offered bundle; retryable errors
 */
export const findRemovals = async (
  source: Source,
  { channels }: Pick<Offer, 'channels'>,
  { bases }: Pick<Bases, 'bases'>,
  media: readonly OpenMedium[],
  signal?: AbortSignal,
): Promise<readonly ChannelRemovals[]> => {
  const found: ChannelRemovals[] = [];
  for (const offered of channels) {
    signal?.throwIfAborted();
    const { channel, version } = offered;
    const known = await knownOf(source, offered, bases, media, signal);
    if (known.length === 0) continue;
    const bundles = offered.bundles.map(({ digest }) => digest);
    const now = await packageNames(source.blobs(channelRepository(channel)), bundles, signal);
    for (const { name, packages } of known) {
      const gone = [...packages.difference(now)].toSorted(compareBytes);
      if (gone.length > 0) found.push({ channel, version, from: name, packages: gone });
    }
  }
  return found;
};

/** Names all packages: 'prod/kiosk release 4 removes label-printer, info-screen, which plant-7/line-1 has'. */
export const describeRemovals = ({ channel, version, from, packages }: ChannelRemovals): string =>
  `${formatChannel(channel)} release ${version} removes ${packages.join(', ')}, which ${from} has`;

const knownOf = async (
  source: Source,
  { channel, version }: OfferedChannel,
  bases: Bases['bases'],
  media: readonly OpenMedium[],
  signal: AbortSignal | undefined,
): Promise<readonly Known[]> => {
  const known = bases.filter((base) => sameChannel(base.channel, channel)).flatMap(toKnown);
  if (known.length > 0) return known;
  for (const one of media) {
    const { medium } = one;
    const bundles = medium?.bundles.filter((bundle) => sameChannel(bundle, channel)) ?? [];
    if (!medium || bundles.length === 0) continue;
    const before = await undefinedIfUnreadable(() =>
      readMediumBases(source, one, { ...medium, bundles }, signal),
    );
    if (before) return before.flatMap(toKnown);
  }
  // In a registry, finding the previous release would need a request for every release.
  if (version < 2 || source.readAhead) return [];
  const packages = await undefinedIfUnreadable(async () => {
    const bundles = await readReleaseBundles(source, channel, version - 1, signal);
    return packageNames(source.blobs(channelRepository(channel)), bundles, signal);
  });
  return packages ? [{ name: `release ${version - 1} of ${formatChannel(channel)}`, packages }] : [];
};

const toKnown = ({ name, packages }: Bases['bases'][number]): readonly Known[] =>
  packages ? [{ name, packages }] : [];

/** Ignores errors of the earlier content, which is informative only: a damaged medium or a missing release does not stop an export. */
const undefinedIfUnreadable = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (!isFleetError(error) || error.retryable || error.exitCode === 1) throw error;
    return undefined;
  }
};
