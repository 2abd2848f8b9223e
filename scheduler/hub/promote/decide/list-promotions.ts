import type { Digest } from '#bundles/digest';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { PromotionPredicate } from '#bundles/formats/statements/predicates';
import { readAuditLog } from '../../../load/releases/audit-log.ts';
import type { GateHub } from '../gate/gate-hub.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';

export type ListedPromotion = Pick<
  PromotionPredicate,
  'number' | 'from' | 'shared' | 'mode' | 'person' | 'reason' | 'time'
> & {
  readonly candidate: Digest;
  /** Number of the entry in the audit log. */
  readonly entry: number;
  /** Whether the environment is built from it now. */
  readonly current: boolean;
};

/**
 * The promotions to an environment, the newest first.
 * @throws FleetError USAGE for the cursor; the codes of readAuditLog
 */
export const listPromotions = async (
  { keys, layout }: Pick<GateHub, 'keys' | 'layout'>,
  environment: string,
  { limit, cursor }: Page,
): Promise<{
  readonly environment: string;
  readonly promotions: readonly ListedPromotion[];
  readonly next: string | null;
}> => {
  const { entries } = await readAuditLog(await openOrStartLayout(layout), keys.roots);
  const [before = Infinity] = cursor === undefined ? [] : decodeCursor(cursor, [0]);
  const all = entries.flatMap((entry) =>
    entry.kind === 'promotion' && entry.predicate.to === environment && entry.candidate !== undefined
      ? [{ entry: entry.number, candidate: entry.candidate, ...entry.predicate }]
      : [],
  );
  const newest = all.at(-1)?.entry;
  const older = all.filter(({ entry }) => entry < before).toReversed();
  const { rows, next } = cutPage(older.slice(0, limit + 1), limit, ({ entry }) => [entry]);
  const promotions = rows.map(
    ({ entry, candidate, number, from, shared, mode, person, reason, time }): ListedPromotion => ({
      number,
      from,
      candidate,
      shared,
      mode,
      person,
      reason,
      time,
      entry,
      current: entry === newest,
    }),
  );
  return { environment, promotions, next };
};
