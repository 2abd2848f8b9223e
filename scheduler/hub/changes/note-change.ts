import { changeState } from '#bundles/formats/statements/change-state';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { canonicalJson } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import type { By } from '../store/open-store.ts';
import type { Tx } from '../store/tables.ts';

export type NotedChange = Omit<ChangePredicate, 'fleet' | 'critical'>;

export type Change = Pick<ChangePredicate, 'change' | 'about' | 'old' | 'new'>;

/**
 * Notes a change of the office in the transaction that makes it, so that neither exists without the other. appendChanges signs
 * the notes and moves them to the audit log.
 * @returns the noted change, as its statement will have it
 */
export const noteChange = async (
  tx: Tx,
  change: Change,
  { person, reason }: By,
  now: Date,
): Promise<NotedChange> => {
  const { last } = await tx
    .selectFrom('pending_change')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  const { about, old, new: after } = change;
  const noted: NotedChange = {
    change: change.change,
    about: about.slice(0, MAX_ABOUT),
    person,
    reason,
    old: changeState(old),
    new: changeState(after),
    time: formatTime(now),
  };
  await tx
    .insertInto('pending_change')
    .values({ number: (last ?? 0) + 1, change: canonicalJson(noted) })
    .execute();
  return noted;
};

const MAX_ABOUT = 256;
