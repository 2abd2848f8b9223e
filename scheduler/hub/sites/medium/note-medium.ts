import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import {
  contentsOf,
  type Departure,
  type MediumContents,
  nameVolumes,
} from '#bundles/formats/medium/departure';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { canonicalJson } from '#bundles/json/canonical';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import type { Tx } from '../../store/tables.ts';

/** undefined: it has no table of contents, or that of another fleet. */
const returnedContents = ({ medium }: OpenMedium, fleet: string): MediumContents | undefined =>
  medium?.fleet === fleet ? contentsOf(medium) : undefined;

/** The same for the medium when it leaves and when it comes back. */
export const fillingOf = ({ createdAt, releases, sites }: MediumContents): Digest =>
  digestOf(canonicalJson({ createdAt, releases, sites }));

/**
 * Stores the table of contents of a returned medium. It is unsigned, so the entry is for display only. A medium without one is not
 * stored.
 */
export const noteMedium = async (store: Store, medium: OpenMedium, now: Date): Promise<void> => {
  const contents = returnedContents(medium, store.fleet);
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
 * The departure of an open medium. Names its volumes.
 * @throws FleetError MEDIUM_EMPTY, WRONG_FLEET
 */
export const departureOf = async ({ medium, path, roots }: OpenMedium, fleet: string): Promise<Departure> => {
  if (medium === undefined)
    throw new FleetError('MEDIUM_EMPTY', `there is no table of contents on ${path}`, {
      hint: 'Fill it with fleet-export create first',
    });
  checkFleet(medium.fleet, fleet);
  return { ...contentsOf(medium), fleet, volumes: await nameVolumes(roots) };
};

/**
 * Records that a filled medium leaves the office. A repetition changes nothing. A record of a volume ends the older record of the same
 * volume, because the older filling is no longer on it. The table of contents is unsigned: the entry is for display, and nothing else
 * follows from it.
 * @throws FleetError WRONG_FLEET
 */
export const recordDeparture = async (
  store: Store,
  { fleet, volumes, ...contents }: Departure,
  now: Date,
): Promise<RecordedMedium> => {
  checkFleet(fleet, store.fleet);
  const filling = fillingOf(contents);
  return store.transact(async (tx) => {
    await endOlder(tx, filling, volumes);
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

const checkFleet = (filled: string, ours: string): void => {
  if (filled === ours) return;
  throw new FleetError(
    'WRONG_FLEET',
    `the medium was filled for the fleet ${filled}, this hub is of ${ours}`,
    {
      hint: 'Record it at the hub of its own fleet',
    },
  );
};

const endOlder = async (tx: Tx, filling: Digest, volumes: readonly string[]): Promise<void> => {
  if (volumes.length === 0) return;
  const onThem = tx.selectFrom('medium_volume').select('filling').where('volume', 'in', volumes);
  await tx
    .deleteFrom('medium_departure')
    .where('filling', 'in', onThem)
    .where('filling', '<>', filling)
    .execute();
  await tx
    .insertInto('medium_volume')
    .values([...new Set(volumes)].map((volume) => ({ volume, filling })))
    .onConflict((conflict) => conflict.column('volume').doUpdateSet({ filling }))
    .execute();
};
