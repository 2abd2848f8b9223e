import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import {
  contentsOf,
  type Departure,
  type MediumContents,
  nameVolumes,
  readVolumes,
} from '#bundles/formats/medium/departure';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { canonicalJson } from '#bundles/json/canonical';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import type { MediumDepartureRow, Tx } from '../../store/tables.ts';

/** undefined: it has no table of contents, or that of another fleet. */
const returnedContents = ({ medium }: OpenMedium, fleet: string): MediumContents | undefined =>
  medium?.fleet === fleet ? contentsOf(medium) : undefined;

/** The same for the medium when it leaves and when it comes back. A filling of named volumes is of these alone. */
export const fillingOf = (
  { createdAt, releases, sites }: MediumContents,
  volumes: readonly string[] = [],
): Digest => {
  const named = [...new Set(volumes)].toSorted(compareBytes);
  return digestOf(
    canonicalJson({ createdAt, releases, sites, volumes: named.length > 0 ? named : undefined }),
  );
};

/**
 * Stores that a medium came back, with its table of contents. The office may be unable to open a sealed one; then its volumes lead to
 * the record of its departure, which has the contents. What is on a medium is unsigned, so the entry is for display only. A medium
 * without readable contents and without such a record is not stored.
 */
export const noteMedium = async (store: Store, medium: OpenMedium, now: Date): Promise<void> => {
  const volumes = await readVolumes(medium.roots);
  await store.transact(async (tx) => {
    const recorded = await recordsOf(tx, volumes);
    const contents = medium.medium
      ? returnedContents(medium, store.fleet)
      : recorded.map(contentsOfRow).toSorted((a, b) => compareBytes(b.createdAt, a.createdAt))[0];
    if (contents === undefined) return;
    const returned = formatTime(now);
    await tx
      .insertInto('medium_return')
      .values({
        received_at: returned,
        created_at: contents.createdAt,
        releases: JSON.stringify(contents.releases),
        sites: JSON.stringify(contents.sites),
      })
      .onConflict((conflict) => conflict.column('received_at').doNothing())
      .execute();
    await endUnderway(tx, contents, { volumes, recorded, returned });
  });
};

/** The records of a returned medium are no longer on their way: those of its volumes, or without any all of the same contents. */
const endUnderway = async (
  tx: Tx,
  contents: MediumContents,
  {
    volumes,
    recorded,
    returned,
  }: {
    readonly volumes: readonly string[];
    readonly recorded: readonly MediumDepartureRow[];
    readonly returned: Timestamp;
  },
): Promise<void> => {
  const same = sameContents(contents);
  if (volumes.length === 0) {
    const { created_at, releases, sites } = columnsOf(contents);
    await tx
      .updateTable('medium_departure')
      .set({ returned_at: returned })
      .where('created_at', '=', created_at)
      .where('releases', '=', releases)
      .where('sites', '=', sites)
      .execute();
    return;
  }
  const own = recorded.filter(same).map(({ filling }) => filling);
  // A record that comes after the medium finds that it is back.
  const filling = own[0] ?? fillingOf(contents, volumes);
  await tx
    .insertInto('medium_departure')
    .values({ filling, recorded_at: returned, ...columnsOf(contents), returned_at: returned })
    .onConflict((conflict) => conflict.column('filling').doUpdateSet({ returned_at: returned }))
    .execute();
  if (own.length === 0) await nameFilling(tx, filling, volumes);
};

const columnsOf = ({ createdAt, releases, sites }: MediumContents) => ({
  created_at: createdAt,
  releases: JSON.stringify(releases),
  sites: JSON.stringify(sites),
});

const contentsOfRow = ({ created_at, releases, sites }: MediumDepartureRow): MediumContents => ({
  createdAt: created_at,
  releases: JSON.parse(releases) as string[],
  sites: JSON.parse(sites) as string[],
});

const sameContents = (contents: MediumContents): ((row: MediumDepartureRow) => boolean) => {
  const filling = fillingOf(contents);
  return (row) => fillingOf(contentsOfRow(row)) === filling;
};

/** Records of fillings that are on these volumes. */
const recordsOf = async (tx: Tx, volumes: readonly string[]): Promise<readonly MediumDepartureRow[]> =>
  volumes.length === 0
    ? []
    : tx
        .selectFrom('medium_departure')
        .selectAll()
        .where(
          'filling',
          'in',
          tx.selectFrom('medium_volume').select('filling').where('volume', 'in', volumes),
        )
        .orderBy('filling')
        .execute();

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
  return store.transact(async (tx) => {
    // A set of which only some volumes are written again is the same record.
    const before = (await recordsOf(tx, volumes)).find(sameContents(contents));
    const filling = before?.filling ?? fillingOf(contents, volumes);
    await endOlder(tx, filling, volumes);
    await tx
      .insertInto('medium_departure')
      .values({ filling, recorded_at: formatTime(now), ...columnsOf(contents), returned_at: null })
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
  await nameFilling(tx, filling, volumes);
};

const nameFilling = (tx: Tx, filling: Digest, volumes: readonly string[]): Promise<unknown> =>
  tx
    .insertInto('medium_volume')
    .values([...new Set(volumes)].map((volume) => ({ volume, filling })))
    .onConflict((conflict) => conflict.column('volume').doUpdateSet({ filling }))
    .execute();
