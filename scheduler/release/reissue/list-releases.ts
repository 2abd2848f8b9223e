import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { entriesOf, type Layout, referenceOf } from '#bundles/formats/layout/layout';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { bundlesOf, type StoredRelease, readReleaseArtifact } from '../../load/releases/read-release.ts';
import { releaseReference } from '../../load/releases/references.ts';
import { findRevoked, readRevocations } from '../../load/releases/revocation-list.ts';

export type ListedRelease = {
  readonly release: StoredRelease;
  readonly bundles: readonly Digest[];
  /** Whether the channel's pointer names it. */
  readonly current: boolean;
  /** '<time>: <reason>' if one of its bundles was revoked. */
  readonly revoked: string | undefined;
};

/**
 * The releases of a channel that a layout still holds, newest first, each verified under the newest root that accepts it.
 * Past releases that cannot be read are left out, because a rollback to them is impossible.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, UNKNOWN_KEY, SCHEMA if the current release or the revocation list cannot
 *   be read
 */
export const listReleases = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<readonly ListedRelease[]> => {
  const pointer = releaseReference(channel);
  const past = `${channelRepository(channel)}:r-`;
  const found = new Map<Digest, StoredRelease>();
  let current: StoredRelease | undefined;
  for (const artifact of entriesOf(layout, channelRepository(channel))) {
    const reference = referenceOf(artifact);
    if (reference !== pointer && !reference?.startsWith(past)) continue;
    const release = await readReleaseArtifact(layout, channel, artifact, roots).catch((error: unknown) => {
      if (reference !== pointer && isFleetError(error)) return undefined;
      throw error;
    });
    if (!release) continue;
    if (reference === pointer) current = release;
    // The same statement may be stored twice: an artifact without the newest root, and one with it.
    if (reference === pointer || !found.has(release.digest)) found.set(release.digest, release);
  }
  const list = await readRevocations(layout, roots, channel, current, 'noted');
  return [...found.values()]
    .toSorted((a, b) => b.predicate.version - a.predicate.version)
    .map((release) => {
      const bundles = bundlesOf(release);
      const revoked = findRevoked(list, bundles);
      return {
        release,
        bundles,
        current: release === current,
        revoked: revoked && `${revoked.at}: ${revoked.reason}`,
      };
    });
};

/** A release for programs. */
export const releaseJson = ({ release: { predicate, root }, bundles, current, revoked }: ListedRelease) => ({
  version: predicate.version,
  bundles,
  issuedAt: predicate.issuedAt,
  expires: predicate.expires,
  root: root.version,
  current,
  revoked: revoked ?? null,
});
