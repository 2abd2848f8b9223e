import { shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseTime } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import type { LayersOfRow } from '../../store/tables.ts';
import type { ReleasedChannelLayers } from '../read-channel-layers.ts';

/**
 * Splits off the channels whose release, or whose statement about its bundle, is older in the layout than what values were composed from
 * before: the layout was put back, in whole or in part, and its layers would undo changes at the sites.
 */
export const refuseOlderLayers = async (
  { store: { db } }: Pick<Hub, 'store'>,
  layers: ReadonlyMap<string, ReleasedChannelLayers>,
): Promise<{
  readonly layers: ReadonlyMap<string, ReleasedChannelLayers>;
  readonly faults: readonly FleetError[];
}> => {
  const rows = await db.selectFrom('layers_of').selectAll().execute();
  const known = Map.groupBy(rows, ({ channel }) => channel);
  const faults: FleetError[] = [];
  const newest = new Map<string, ReleasedChannelLayers>();
  for (const [channel, one] of layers) {
    const why = olderThan(one, known.get(channel) ?? []);
    if (why === undefined) newest.set(channel, one);
    else
      faults.push(
        new FleetError('ROLLBACK', `${channel}: ${why}; its sites keep the values that they have`, {
          hint: 'Put back the newest copy of the layout, or build again',
        }),
      );
  }
  return { layers: newest, faults };
};

const olderThan = (
  { release, statements }: ReleasedChannelLayers,
  known: readonly LayersOfRow[],
): string | undefined => {
  const last = Math.max(0, ...known.map((row) => row.release));
  if (release < last)
    return `the layout has release ${release}, and values were composed from the layers of release ${last}`;
  for (const { bundle, builtAt } of statements) {
    const before = known.find((row) => row.bundle === bundle)?.built_at;
    if (before !== undefined && parseTime(builtAt) < parseTime(before))
      return `the layout has the statement of ${builtAt} about bundle ${shortDigest(bundle)}, and values were composed from the layers of the one of ${before}`;
  }
  return undefined;
};

/** Records what values were composed from. */
export const noteLayers = async (
  { store }: Pick<Hub, 'store'>,
  layers: ReadonlyMap<string, ReleasedChannelLayers>,
): Promise<void> => {
  const rows = [...layers].flatMap(([channel, { release, statements }]) =>
    statements.map(({ bundle, builtAt }): LayersOfRow => ({ channel, bundle, release, built_at: builtAt })),
  );
  const known = await store.db.selectFrom('layers_of').selectAll().execute();
  const due = rows.filter(
    (row) =>
      !known.some(
        (one) =>
          one.channel === row.channel &&
          one.bundle === row.bundle &&
          one.built_at === row.built_at &&
          one.release === row.release,
      ),
  );
  if (due.length === 0) return;
  await store.transact(async (tx) => {
    for (const { channel, bundle, ...columns } of due)
      await tx
        .insertInto('layers_of')
        .values({ channel, bundle, ...columns })
        .onConflict((conflict) => conflict.columns(['channel', 'bundle']).doUpdateSet(columns))
        .execute();
  });
};
