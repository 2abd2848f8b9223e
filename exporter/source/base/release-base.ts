import { defined } from '#bundles/defined';
import { packageNames } from '#bundles/formats/bundle/package-names';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES } from '#bundles/media-types';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { readRoot } from '#bundles/trust/root/read-root';
import type { TrustRoot } from '#bundles/trust/root/root';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { parseAs } from '#bundles/json/parse-as';
import { RELEASE_PREDICATE } from '#bundles/json/schema/validators';
import type { OfferedDocument } from '../offer.ts';
import { readTagged } from '../read-tagged.ts';
import type { Source } from '../source.ts';
import type { Base } from '#bundles/formats/medium/choose-blobs';
import { blobsOf } from './blobs-of.ts';

const MAX_ROOT_BYTES = 512 << 10;

/**
 * The bundles of a release in the source, verified under the roots that are stored with it. The release may have expired and may
 * be signed under an older root.
 * @throws FleetError CHANNEL_MISSING when the source does not have the release, WRONG_CHANNEL, and the errors of verifyUnder
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
  const predicate = parseAs(RELEASE_PREDICATE, verified.predicate, name);
  if (!sameChannel(predicate.audience, channel) || predicate.version !== version) {
    const real = `release ${predicate.version} of ${formatChannel(predicate.audience)}`;
    throw new FleetError('WRONG_CHANNEL', `${source.name} has ${real} under the name ${name}`);
  }
  return verified.subjects.flatMap(({ name: subject, digest }) =>
    subject.startsWith('bundle/') ? [digest] : [],
  );
};

/**
 * Base for a release that, according to the user, all agents of the channel have. The release may have expired and may be signed
 * under an older root.
 * @throws FleetError CHANNEL_MISSING when the source does not have the release, WRONG_CHANNEL, and the errors of verifyUnder
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
  return {
    name,
    channel,
    ...blobs,
    ...defined({ packages: blobs.unknown.length === 0 ? packages : undefined }),
  };
};

const byVersion = (a: TrustRoot, b: TrustRoot): number => a.version - b.version;

/** Finds a release by its immutable tag (docs/bundle-format.md section 13). */
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
    // Leases and site statements have such tags too.
    const documents = await readTagged(source, repository, tag, undefined);
    const release = documents?.find(({ document }) => document.role === 'release')?.document;
    if (documents && release?.version === version) return { documents, others: [] };
    if (release?.version !== undefined) others.add(release.version);
  }
  return { others: [...others].toSorted((a, b) => a - b) };
};
