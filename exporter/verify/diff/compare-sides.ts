import { compareBytes, type Digest } from '#bundles/digest';
import { type BundleDiff, compareBundles } from './compare-bundles.ts';
import type { Side } from './side.ts';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob } from '#bundles/formats/layout/verified';

export type ChannelDiff = {
  readonly channel: string;
  readonly release: { readonly before: number | undefined; readonly after: number | undefined };
  /** Those that differ. */
  readonly bundles: readonly BundleDiff[];
  /** Blobs of this channel in `after` and not in `before`; a blob carried as a patch counts with the patch. */
  readonly bytes: number;
};

export type SidesDiff = {
  readonly before: string;
  readonly after: string;
  readonly same: boolean;
  /** Those that differ. */
  readonly channels: readonly ChannelDiff[];
  readonly unchanged: readonly string[];
  /** Changed site statements, if both sides have some. */
  readonly sites: readonly {
    readonly site: string;
    readonly before: number | undefined;
    readonly after: number | undefined;
  }[];
  /** Blobs to transfer, each counted once. */
  readonly bytes: number;
  /** Number of blobs carried as patches, whose sizes count in place of the blobs'. */
  readonly patched: number;
  readonly notes: readonly string[];
};

/** @param only the channels to compare; undefined: all channels of either side */
export const compareSides = async (
  before: Side,
  after: Side,
  only: readonly string[] | undefined,
  signal?: AbortSignal,
): Promise<SidesDiff> => {
  const all = new Set([before, after].flatMap(channelsOf));
  const wanted = only ? [...all].filter((channel) => only.includes(channel)) : [...all];
  const blobs = firstOf([...new Set([...after.bundles, ...before.bundles].map((bundle) => bundle.blobs))]);
  const patches = new Map([...before.patches, ...after.patches]);
  const channels: ChannelDiff[] = [];
  const unchanged: string[] = [];
  const there = new Set(before.holds);
  const travel = new Map<Digest, number>();
  for (const channel of wanted.toSorted(compareBytes)) {
    const bundles: BundleDiff[] = [];
    const lacking = new Map<Digest, number>();
    for (const kind of ['kubernetes', 'host'] as const) {
      const pick = (side: Side) => side.bundles.find((it) => it.channel === channel && it.kind === kind);
      const [left, right] = [pick(before), pick(after)];
      if (!left && !right) continue;
      const { diff, closures } = await compareBundles(left, right, { blobs, patches }, signal);
      if (left?.digest !== right?.digest) bundles.push(diff);
      for (const { digest } of closures.before) there.add(digest);
      for (const { digest, size } of closures.after)
        lacking.set(digest, after.patches.get(digest)?.delta.patch.size ?? size);
    }
    const own = [...lacking].filter(([digest]) => !there.has(digest));
    for (const [digest, size] of own) travel.set(digest, size);
    const release = { before: before.releases.get(channel), after: after.releases.get(channel) };
    if (bundles.length === 0 && release.before === release.after) unchanged.push(channel);
    else channels.push({ channel, release, bundles, bytes: sum(own) });
  }
  const sites = compareSites(before, after);
  const news = [...travel].filter(([digest]) => !there.has(digest));
  return {
    before: before.name,
    after: after.name,
    same: channels.length === 0 && sites.length === 0,
    channels,
    unchanged,
    sites,
    bytes: sum(news),
    patched: news.filter(([digest]) => after.patches.has(digest)).length,
    notes: [...before.notes, ...after.notes],
  };
};

const channelsOf = ({ releases, bundles }: Side): readonly string[] => [
  ...releases.keys(),
  ...bundles.map(({ channel }) => channel),
];

const sum = (blobs: readonly (readonly [Digest, number])[]): number =>
  blobs.reduce((total, [, size]) => total + size, 0);

const compareSites = ({ sites: before }: Side, { sites: after }: Side): SidesDiff['sites'] => {
  if (!before || !after) return [];
  return [...new Set([...before.keys(), ...after.keys()])]
    .toSorted(compareBytes)
    .map((site) => ({ site, before: before.get(site), after: after.get(site) }))
    .filter((it) => it.before !== it.after || before.has(it.site) !== after.has(it.site));
};

/** Reads a blob from the first source that has it: the other side may have a blob that a delta leaves out. */
const firstOf = (places: readonly BlobSource[]): BlobSource => {
  const name = places.map((place) => place.name).join(', ');
  return {
    name,
    size: async (digest) => {
      for (const place of places) {
        const size = await place.size(digest);
        if (size !== undefined) return size;
      }
      return undefined;
    },
    open: async (digest, signal) => {
      for (const place of places)
        if ((await place.size(digest)) !== undefined) return place.open(digest, signal);
      throw missingBlob(digest, name);
    },
  };
};
