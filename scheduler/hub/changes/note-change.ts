import { digestOf } from '#bundles/digest';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { canonicalBytes, canonicalJson, type Json } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import type { By } from '../store/open-store.ts';
import type { Tx } from '../store/tables.ts';

export type Change = Pick<ChangePredicate, 'change' | 'about' | 'old' | 'new'>;

/**
 * Notes a change of the office in the transaction that makes it, so that neither exists without the other. appendChanges signs
 * the notes and moves them to the audit log.
 */
export const noteChange = async (
  tx: Tx,
  change: Change,
  { person, reason }: By,
  now: Date,
): Promise<void> => {
  const { last } = await tx
    .selectFrom('pending_change')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  const { about, old, new: after } = change;
  const noted: Omit<ChangePredicate, 'fleet' | 'critical'> = {
    change: change.change,
    about: about.slice(0, MAX_ABOUT),
    person,
    reason,
    old: bounded(old),
    new: bounded(after),
    time: formatTime(now),
  };
  await tx
    .insertInto('pending_change')
    .values({ number: (last ?? 0) + 1, change: canonicalJson(noted) })
    .execute();
};

const MAX_ABOUT = 256;
/** Two states of this size fit into a statement, which has at most 64 KiB in base64. */
const MAX_STATE_BYTES = 16 << 10;

type State = Change['old'];

/** A larger state is named by its digest. */
const bounded = (state: State): State => {
  if (state === null) return null;
  const whole = withoutFractions(state) as NonNullable<State>;
  const bytes = canonicalBytes(whole);
  return bytes.length <= MAX_STATE_BYTES ? whole : { digest: digestOf(bytes), size: bytes.length };
};

/** Statements have whole numbers only: other numbers become text. */
const withoutFractions = (value: Json): Json => {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutFractions);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, withoutFractions(one ?? null)]),
  );
};
