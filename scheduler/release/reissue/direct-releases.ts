import type { Layout } from '#bundles/formats/layout/layout';
import { lineagesOf } from '../../load/releases/check-promoted.ts';
import { withNewestStatement } from '../../load/releases/newest-statement.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';
import type { ListedRelease } from './list-releases.ts';

/**
 * Numbers of the releases of a chained environment whose bundles changed without a new promotion. A release says what was promoted
 * when it was made; the one before it may be of a later promotion that gave its bundle again.
 * @param releases of one channel, newest first
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SCHEMA for a bundle statement
 */
export const directReleases = async (
  layout: Layout,
  releases: readonly ListedRelease[],
): Promise<ReadonlySet<number>> => {
  const direct = new Set<number>();
  for (const [index, { release, bundles }] of releases.entries()) {
    const before = releases[index + 1];
    if (!before || bundles.every((bundle) => before.bundles.includes(bundle))) continue;
    const promoted = await promotedIn(layout, release);
    if (promoted === undefined) continue;
    const last = await promotedIn(layout, await withNewestStatement(layout, before.release));
    if (promoted === last) direct.add(release.predicate.version);
  }
  return direct;
};

const promotedIn = async (layout: Layout, release: StoredRelease) =>
  (await lineagesOf(layout, release))[0]?.promoted;
