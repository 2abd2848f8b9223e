import type { Layout } from '#bundles/formats/layout/layout';
import { lineagesOf } from '../../load/releases/check-promoted.ts';
import type { ListedRelease } from './list-releases.ts';

/**
 * Numbers of the releases of a chained environment whose bundles changed without a new promotion.
 * @param releases of one channel, newest first
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SCHEMA for a bundle statement
 */
export const directReleases = async (
  layout: Layout,
  releases: readonly ListedRelease[],
): Promise<ReadonlySet<number>> => {
  const promoted = await Promise.all(
    releases.map(async ({ release }) => (await lineagesOf(layout, release))[0]?.promoted),
  );
  const direct = new Set<number>();
  for (const [index, { release, bundles }] of releases.entries()) {
    const before = releases[index + 1];
    if (promoted[index] === undefined || promoted[index] !== promoted[index + 1]) continue;
    if (bundles.some((bundle) => !before?.bundles.includes(bundle))) direct.add(release.predicate.version);
  }
  return direct;
};
