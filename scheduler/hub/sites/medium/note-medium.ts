import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { canonicalJson } from '#bundles/json/canonical';
import { isTime, formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';

/** Names of a kind that are kept of one medium. */
const MAX_NAMES = 1000;

/** Table of contents of a medium: when it was filled, its releases ('prod/press r3'), and the sites that it has statements for. */
export type MediumContents = {
  readonly createdAt: Timestamp;
  readonly releases: readonly string[];
  readonly sites: readonly string[];
};

/** undefined: it has no table of contents, or that of another fleet. */
const contentsOf = ({ medium }: OpenMedium, fleet: string): MediumContents | undefined => {
  if (medium === undefined || medium.fleet !== fleet || !isTime(medium.createdAt)) return undefined;
  const { createdAt, documents } = medium;
  const releases = documents.flatMap(({ role, environment, clusterType, version }) =>
    role === 'release' && environment !== undefined && clusterType !== undefined && version !== undefined
      ? [`${environment}/${clusterType} r${version}`]
      : [],
  );
  const sites = documents.flatMap(({ role, site }) => (role === 'site' && site !== undefined ? [site] : []));
  return { createdAt, releases: namesOf(releases), sites: namesOf(sites) };
};

const namesOf = (names: readonly string[]): readonly string[] =>
  [...new Set(names)].toSorted(compareBytes).slice(0, MAX_NAMES);

/** The same for the medium when it leaves and when it comes back. */
export const fillingOf = ({ createdAt, releases, sites }: MediumContents): Digest =>
  digestOf(canonicalJson({ createdAt, releases, sites }));

/**
 * Stores the table of contents of a returned medium. It is unsigned, so the entry is for display only. A medium without one is not
 * stored.
 */
export const noteMedium = async (store: Store, medium: OpenMedium, now: Date): Promise<void> => {
  const contents = contentsOf(medium, store.fleet);
  if (contents === undefined) return;
  await store.transact(async (tx) => {
    await tx
      .insertInto('medium_return')
      .values({
        received_at: formatTime(now),
        created_at: contents.createdAt,
        releases: JSON.stringify(contents.releases),
        sites: JSON.stringify(contents.sites),
      })
      .onConflict((conflict) => conflict.column('received_at').doNothing())
      .execute();
  });
};

export type RecordedMedium = MediumContents & {
  /** Time of the first record of this filling. */
  readonly recordedAt: Timestamp;
};

/**
 * Records that a filled medium leaves the office. A repetition changes nothing. The table of contents is unsigned: the entry is for
 * display, and nothing else follows from it.
 * @throws FleetError MEDIUM_EMPTY, WRONG_FLEET
 */
export const recordMedium = async (store: Store, medium: OpenMedium, now: Date): Promise<RecordedMedium> => {
  const contents = contentsOf(medium, store.fleet);
  if (contents === undefined) throw nothingToRecord(medium, store.fleet);
  const filling = fillingOf(contents);
  return store.transact(async (tx) => {
    await tx
      .insertInto('medium_departure')
      .values({
        filling,
        recorded_at: formatTime(now),
        created_at: contents.createdAt,
        releases: JSON.stringify(contents.releases),
        sites: JSON.stringify(contents.sites),
      })
      .onConflict((conflict) => conflict.column('filling').doNothing())
      .execute();
    const { recorded_at: recordedAt } = await tx
      .selectFrom('medium_departure')
      .select('recorded_at')
      .where('filling', '=', filling)
      .executeTakeFirstOrThrow();
    return { ...contents, recordedAt };
  });
};

const nothingToRecord = ({ path, medium }: OpenMedium, fleet: string): FleetError =>
  medium === undefined || medium.fleet === fleet
    ? new FleetError('MEDIUM_EMPTY', `there is no table of contents on ${path}`, {
        hint: 'Fill it with fleet-export create first',
      })
    : new FleetError(
        'WRONG_FLEET',
        `${path} was filled for the fleet ${medium.fleet}, this hub is of ${fleet}`,
        {
          hint: 'Record it at the hub of its own fleet',
        },
      );
