import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Layout, referenceOf } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, isName, sameChannel } from '#bundles/names';

export type FoundBundle = { readonly digest: Digest; readonly channel: Channel };

const BUNDLE = /^([^/]+)\/([^/]+):b-[0-9a-f]{64}$/;
const MIN_PREFIX = 12;

/**
 * Finds a bundle of a layout by its digest or at least its first 12 hex digits.
 * @param channel undefined: search all channels
 * @throws FleetError USAGE if the text is not a digest or is ambiguous, RELEASE_MISSING if there is no such bundle
 */
export const findBundle = (layout: Layout, text: string, channel: Channel | undefined): FoundBundle => {
  const [, digits] = /^(?:sha256:)?([0-9a-f]{1,64})$/.exec(text.toLowerCase()) ?? [];
  if (digits === undefined || digits.length < MIN_PREFIX) {
    throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not the digest of a bundle`, {
      hint: `Give sha256:<64 hex digits>, or at least the first ${MIN_PREFIX}; "releases list" shows them`,
    });
  }
  const found = layout.manifests.flatMap((entry): FoundBundle[] => {
    const [, environment, clusterType] = BUNDLE.exec(referenceOf(entry) ?? '') ?? [];
    if (!isName(environment) || !isName(clusterType)) return [];
    if (!entry.digest.startsWith(`sha256:${digits}`)) return [];
    return [{ digest: entry.digest, channel: { environment, clusterType } }];
  });
  const of = channel ? found.filter((one) => sameChannel(one.channel, channel)) : found;
  const [first, second] = of;
  if (!first) {
    const where = channel ? ` of ${formatChannel(channel)}` : '';
    throw new FleetError(
      'RELEASE_MISSING',
      `no release in ${layout.directory} names a bundle ${digits.slice(0, 12)}${where}`,
      {
        hint: 'Only bundles that this layout released can be withdrawn; check the digest and the channel',
      },
    );
  }
  if (!second) return first;
  throw new FleetError(
    'USAGE',
    `${shortDigest(first.digest)} of ${formatChannel(first.channel)} and ${shortDigest(second.digest)} of ${formatChannel(second.channel)} both begin with ${digits}`,
    { hint: 'Give more digits, or --channel' },
  );
};
