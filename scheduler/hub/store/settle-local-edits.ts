import type { LocalEditRow } from './local-edit-row.ts';
import type { Tx } from './tables.ts';

type Of = Pick<LocalEditRow, 'agent' | 'life' | 'name'>;

/**
 * Ends the edits of a value that are not its newest any more: superseded by a newer one, or withdrawn at the site. The sequence number decides, in
 * whatever order reports arrive.
 */
export const settleLocalEdits = async (tx: Tx, { agent, life, name }: Of): Promise<void> => {
  const rows = await tx
    .selectFrom('local_edit')
    .select(['seq', 'action', 'state'])
    .where('agent', '=', agent)
    .where('life', '=', life)
    .where('name', '=', name)
    .orderBy('seq')
    .execute();
  for (const [index, { seq, state }] of rows.entries()) {
    const next = rows[index + 1];
    if (!next || state !== 'waiting') continue;
    await tx
      .updateTable('local_edit')
      .set({ state: next.action === 'set' ? 'superseded' : 'withdrawn', note: null })
      .where('agent', '=', agent)
      .where('life', '=', life)
      .where('seq', '=', seq)
      .execute();
  }
};
