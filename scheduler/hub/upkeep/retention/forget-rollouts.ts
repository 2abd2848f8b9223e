import { parts } from '../../store/parts.ts';
import type { Tx, ValuesRolloutRow } from '../../store/tables.ts';
import { rolloutOf } from '../../sites/values-rollout.ts';

/**
 * Removes rollouts of values that ended before a time, with their places; the audit log has their decisions, and the record of each site the values before
 * and after. Those that run stay, those whose take-back is not carried out, and the newest ones, which name what each environment has.
 * @returns number of rollouts
 */
export const forgetRollouts = async (tx: Tx, before: string): Promise<number> => {
  const rows = await tx.selectFrom('values_rollout').selectAll().orderBy('number', 'desc').execute();
  const unreturned = await tx
    .selectFrom('values_unit')
    .innerJoin('values_rollout', 'values_rollout.id', 'values_unit.rollout')
    .select('values_unit.rollout')
    .distinct()
    .where('values_rollout.state', '=', 'taken-back')
    .where('values_rollout.kind', '=', 'values')
    .where('values_unit.state', '=', 'applied')
    .execute();
  const kept = new Set<string>([...newestOf(rows), ...unreturned.map(({ rollout }) => rollout)]);
  const gone = rows.filter((row) => row.state !== 'running' && endOf(row) < before && !kept.has(row.id));
  for (const part of parts(gone.map(({ id }) => id))) {
    await tx.deleteFrom('values_unit').where('rollout', 'in', part).execute();
    await tx.deleteFrom('values_rollout').where('id', 'in', part).execute();
  }
  return gone.length;
};

/** The newest of all, which gives the next its number; of each environment and kind; and the newest that was taken back, which commands show. */
const newestOf = (rows: readonly ValuesRolloutRow[]): readonly string[] => {
  const found = new Map<string, string>();
  for (const { id, environment, kind, state } of rows)
    for (const key of ['', `${environment} ${kind}`, state === 'taken-back' ? `${environment} ${state}` : ''])
      if (!found.has(key)) found.set(key, id);
  return [...found.values()];
};

/** When the last stage began, or it was resumed: it ended no earlier. */
const endOf = (row: ValuesRolloutRow): string => {
  const { rollout, progress } = rolloutOf(row);
  return [rollout.time, ...progress.started, progress.resumedAt ?? ''].reduce((a, b) => (a > b ? a : b));
};
