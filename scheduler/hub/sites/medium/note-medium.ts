import { compareBytes } from '#bundles/digest';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { isTime, formatTime } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';

/** Names of a kind that are kept of one medium. */
const MAX_NAMES = 1000;

/**
 * Stores the table of contents of a returned medium: when it was filled, its releases, and the sites that it has statements
 * for. The table of contents is unsigned, so the entry is for display only. A medium without one is not stored.
 */
export const noteMedium = async (store: Store, { medium }: OpenMedium, now: Date): Promise<void> => {
  if (medium === undefined || medium.fleet !== store.fleet || !isTime(medium.createdAt)) return;
  const { createdAt, documents } = medium;
  const releases = documents.flatMap(({ role, environment, clusterType, version }) =>
    role === 'release' && environment !== undefined && clusterType !== undefined && version !== undefined
      ? [`${environment}/${clusterType} r${version}`]
      : [],
  );
  const sites = documents.flatMap(({ role, site }) => (role === 'site' && site !== undefined ? [site] : []));
  await store.transact(async (tx) => {
    await tx
      .insertInto('medium_return')
      .values({
        received_at: formatTime(now),
        created_at: createdAt,
        releases: JSON.stringify(namesOf(releases)),
        sites: JSON.stringify(namesOf(sites)),
      })
      .onConflict((conflict) => conflict.column('received_at').doNothing())
      .execute();
  });
};

const namesOf = (names: readonly string[]): readonly string[] =>
  [...new Set(names)].toSorted(compareBytes).slice(0, MAX_NAMES);
