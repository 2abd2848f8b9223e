import { HOUR_MS } from '#bundles/time';
import type { Hub } from '../hub.ts';
import { countCompliance } from '../questions/status/count-compliance.ts';

/** Hours that samples are kept. */
const KEPT_HOURS = 400 * 24;

/**
 * Stores the counts of the current hour, unless they are stored. Of two replicas that count the same hour the first one's stay.
 * @returns whether it counted
 */
export const sampleCompliance = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  now: Date,
): Promise<boolean> => {
  const { store } = hub;
  const hour = Math.floor(now.getTime() / HOUR_MS);
  const known = await store.db
    .selectFrom('compliance')
    .select('hour')
    .where('hour', '=', hour)
    .executeTakeFirst();
  if (known !== undefined) return false;
  const rows = [...(await countCompliance(hub, now))].map(([environment, { neverReported, ...counts }]) => ({
    hour,
    environment,
    ...counts,
    never_reported: neverReported,
  }));
  await store.transact(async (tx) => {
    if (rows.length > 0)
      await tx
        .insertInto('compliance')
        .values(rows)
        .onConflict((conflict) => conflict.columns(['hour', 'environment']).doNothing())
        .execute();
    await tx
      .deleteFrom('compliance')
      .where('hour', '<', hour - KEPT_HOURS)
      .execute();
  });
  return true;
};
