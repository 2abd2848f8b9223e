import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { type Layout, referenceOf } from '#bundles/layout/layout';
import type { Channel } from '#bundles/names';
import { channelRepository } from '#bundles/registry/references';
import type { TrustRoot } from '#bundles/trust/root';
import { type PublishedRelease, readReleaseArtifact } from '../publish/read-release.ts';
import { releaseReference } from '../publish/references.ts';
import { findRevoked, readRevocations } from '../publish/revocation-list.ts';
import { bundlesOf } from './bundle-statements.ts';

export type ListedRelease = {
  readonly release: PublishedRelease;
  readonly bundles: readonly Digest[];
  /** What the pointer names. */
  readonly current: boolean;
  /** Why one of its bundles was withdrawn. */
  readonly revoked: string | undefined;
};

/**
 * The releases of a channel that a layout still has, newest first, each verified under the root of its time. One that
 * cannot be read is left out: nobody can go back to it.
 * @throws FleetError where the current one, or the list of what is revoked, cannot be read
 */
export const listReleases = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<readonly ListedRelease[]> => {
  const pointer = releaseReference(channel);
  const past = `${channelRepository(channel)}:r-`;
  const found = new Map<Digest, PublishedRelease>();
  let current: PublishedRelease | undefined;
  for (const artifact of layout.manifests) {
    const reference = referenceOf(artifact);
    if (reference !== pointer && !reference?.startsWith(past)) continue;
    const release = await readReleaseArtifact(layout, channel, artifact, roots).catch((error: unknown) => {
      if (reference !== pointer && isFleetError(error)) return undefined;
      throw error;
    });
    if (!release) continue;
    if (reference === pointer) current = release;
    // One statement may lie there twice, without a root and with it.
    if (reference === pointer || !found.has(release.digest)) found.set(release.digest, release);
  }
  const fleet = roots.at(-1)?.fleet ?? '';
  const list = await readRevocations(layout, fleet, channel, current);
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
