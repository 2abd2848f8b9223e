import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { type ErrorCode, FleetError, isFleetError } from '#bundles/errors';
import { entriesOf, type Layout, referenceOf } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { lineagesOf } from './check-promoted.ts';
import { bundlesOf, type StoredRelease, readRelease, readReleaseArtifact } from './read-release.ts';

/** The release that the next one is compared with. */
export type Base = {
  /** The newest one that its readers accept, so that sites can run it; undefined without one. */
  readonly release: StoredRelease | undefined;
  /** Why a newer one is passed over. Only its number counts. */
  readonly unread?: FleetError;
};

/**
 * Codes of content that its writer should not have signed: no agent accepts it. Damage is not among them, and content for newer programs
 * (UNSUPPORTED) neither.
 */
const REFUSED: readonly ErrorCode[] = ['SCHEMA', 'TOO_LARGE', 'TOO_DEEP', 'BAD_JSON'];

/**
 * Finds the newest release of a channel whose bundles and bundle statements can be read. Versions of this program before 0.2 signed some
 * that no reader takes.
 * @param newest the newest release
 * @param known a bundle that is known to be readable
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, UNSUPPORTED for a release that is damaged or for a newer program
 */
export const readBase = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
  newest: StoredRelease | undefined,
  known?: Digest,
): Promise<Base> => {
  const why = newest && (await whyUnusable(layout, newest, known));
  if (!newest || !why) return { release: newest };
  const release = await newestReadable(layout, channel, roots, newest);
  const { version } = newest.predicate;
  return {
    release,
    unread: new FleetError(
      why.code,
      `release ${version} of ${formatChannel(channel)} was signed and cannot be read: ${why.message}; ${release ? `the build continues from release ${release.predicate.version}` : 'there is no earlier one'}`,
      { subject: formatChannel(channel), cause: why },
    ),
  };
};

/** As readBase, from the release that the channel's pointer names. @throws FleetError those of readRelease */
export const readCurrentBase = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<Base> => readBase(layout, channel, roots, await readRelease(layout, channel, roots));

const newestReadable = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
  newest: StoredRelease,
): Promise<StoredRelease | undefined> => {
  const past = `${channelRepository(channel)}:r-`;
  const found: StoredRelease[] = [];
  for (const artifact of entriesOf(layout, channelRepository(channel))) {
    if (referenceOf(artifact)?.startsWith(past) !== true) continue;
    const release = await readReleaseArtifact(layout, channel, artifact, roots).catch(ignoreUnreadable);
    if (release && release.predicate.version < newest.predicate.version) found.push(release);
  }
  for (const release of found.toSorted((a, b) => b.predicate.version - a.predicate.version)) {
    // A past release may be incomplete, as nothing needs it.
    const isReadable = await whyUnusable(layout, release).then((why) => !why, ignoreUnreadable);
    if (isReadable === true) return release;
  }
  return undefined;
};

const ignoreUnreadable = (error: unknown): undefined => {
  if (isFleetError(error)) return undefined;
  throw error;
};

const whyUnusable = async (
  layout: Layout,
  release: StoredRelease,
  known?: Digest,
): Promise<FleetError | undefined> => {
  try {
    await lineagesOf(layout, release);
    for (const digest of bundlesOf(release)) if (digest !== known) await readBundle(layout.blobs, digest);
    return undefined;
  } catch (error) {
    if (error instanceof FleetError && REFUSED.includes(error.code)) return error;
    throw error;
  }
};
