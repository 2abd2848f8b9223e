import { formatTime } from '#bundles/time';
import { noteChange } from '../changes/note-change.ts';
import type { Store } from '../store/open-store.ts';

/**
 * Pins the values of the sites of an environment, or ends it: while it is pinned no change of values reaches them. Changes that are made meanwhile are
 * stored, and begin when it ends. By the person and for the reason of the store. @returns `unchanged` if it was so already; nothing is written then
 */
export const pinValues = (
  store: Store,
  environment: string,
  isPinned: boolean,
  now: Date,
): Promise<'decided' | 'unchanged'> =>
  store.transact(async (tx) => {
    const { by } = store;
    const before = await tx
      .selectFrom('values_pin')
      .selectAll()
      .where('environment', '=', environment)
      .executeTakeFirst();
    if ((before !== undefined) === isPinned) return 'unchanged';
    if (isPinned)
      await tx
        .insertInto('values_pin')
        .values({ environment, ...by, at: formatTime(now) })
        .execute();
    else await tx.deleteFrom('values_pin').where('environment', '=', environment).execute();
    const change = `sites values ${isPinned ? 'pin' : 'unpin'}`;
    const old = before ? { person: before.person, reason: before.reason, since: before.at } : null;
    await noteChange(tx, { change, about: environment, old, new: null }, by, now);
    return 'decided';
  });
