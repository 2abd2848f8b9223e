import { packageNames } from '#bundles/bundle/package-names';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBlob } from '#bundles/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import type { ReleasePredicate } from '#bundles/statements/predicates';
import { readRoot } from '#bundles/trust/read-root';
import type { TrustRoot } from '#bundles/trust/root';
import { verifyUnder } from '#bundles/trust/verify-under';
import { parseDocument } from '#bundles/validate';
import type { OfferedDocument } from '../source/offer.ts';
import { readTagged } from '../source/read-tagged.ts';
import type { Source } from '../source/source.ts';
import type { Base } from './base.ts';
import { blobsOf } from './blobs-of.ts';

const MAX_ROOT_BYTES = 512 << 10;

/**
 * The bundles of a release that the source has, its statement verified by the roots that came with it. It may have ended,
 * and be signed by keys of a former root.
 * @throws FleetError CHANNEL_MISSING where the source has no such release, and those of verifyStatement
 */
export const readReleaseBundles = async (
  source: Source,
  channel: Channel,
  version: number,
  signal?: AbortSignal,
): Promise<readonly Digest[]> => {
  const repository = channelRepository(channel);
  const name = `release ${version} of ${formatChannel(channel)}`;
  const { documents, others } = await findRelease(source, repository, version);
  if (!documents) {
    throw new FleetError('CHANNEL_MISSING', `${source.name} has no ${name}`, {
      hint: others.length > 0 ? `It has ${others.join(', ')}` : 'It has none of this channel',
    });
  }
  const read = (role: string, maxBytes: number): Promise<Buffer[]> =>
    Promise.all(
      documents
        .filter(({ document }) => document.role === role)
        .map(({ document }) => readBlob(source.blobs(repository), document.digest, maxBytes, signal)),
    );
  const roots = (await read('root', MAX_ROOT_BYTES)).map((bytes) => readRoot(bytes)).toSorted(byVersion);
  const { verified } = verifyUnder(
    await read('release', MAX_STATEMENT_BYTES),
    roots,
    'release',
    PREDICATES.release,
    name,
  );
  const predicate = parseDocument<ReleasePredicate>('release-predicate', verified.predicate, name);
  if (!sameChannel(predicate.audience, channel) || predicate.version !== version) {
    const real = `release ${predicate.version} of ${formatChannel(predicate.audience)}`;
    throw new FleetError('WRONG_CHANNEL', `what ${source.name} has as ${name} is really ${real}`);
  }
  return verified.subjects.flatMap(({ name: subject, digest }) =>
    subject.startsWith('bundle/') ? [digest] : [],
  );
};

/**
 * A release that everybody who follows the channel is said to have: what its bundles are made of, from the source. It may
 * have ended, and be signed by keys of a former root.
 * @throws FleetError CHANNEL_MISSING where the source has no such release, and those of verifyStatement
 */
export const readReleaseBase = async (
  source: Source,
  channel: Channel,
  version: number,
  signal?: AbortSignal,
): Promise<Base> => {
  const name = `release ${version} of ${formatChannel(channel)}`;
  const bundles = await readReleaseBundles(source, channel, version, signal);
  const blobs = await blobsOf(source, bundles, [channel], signal);
  const packages = await packageNames(source.blobs(channelRepository(channel)), blobs.holds.keys(), signal);
  return { name, channel, ...blobs, ...(blobs.unknown.length === 0 && { packages }) };
};

const byVersion = (a: TrustRoot, b: TrustRoot): number => a.version - b.version;

/** Every release has a tag of its own, so that one can go back to it (docs/bundle-format.md section 13). */
const findRelease = async (
  source: Source,
  repository: string,
  version: number,
): Promise<{
  readonly documents?: readonly OfferedDocument[];
  readonly others: readonly number[];
}> => {
  const others = new Set<number>();
  const past = (await source.tags(repository)).filter((tag) => /^r-[0-9a-f]{64}$/.test(tag));
  for (const tag of ['release', ...past.toSorted(compareBytes)]) {
    // Leases and orders have such tags, too.
    const documents = await readTagged(source, repository, tag, undefined);
    const release = documents?.find(({ document }) => document.role === 'release')?.document;
    if (documents && release?.version === version) return { documents, others: [] };
    if (release?.version !== undefined) others.add(release.version);
  }
  return { others: [...others].toSorted((a, b) => a - b) };
};
