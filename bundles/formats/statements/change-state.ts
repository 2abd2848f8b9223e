import { digestOf } from '../../digest.ts';
import { canonicalBytes, type Json } from '../../json/canonical.ts';
import type { ChangePredicate } from '../../schemas/types/change-predicate.ts';

export type ChangeState = ChangePredicate['old'];

/** Two states of this size fit into a statement, which has at most 64 KiB in base64. */
const MAX_STATE_BYTES = 16 << 10;

/** A state as a change statement has it: numbers with fractions as text, and a larger state named by its digest. */
export const changeState = (state: ChangeState): ChangeState => {
  if (state === null) return null;
  const whole = withoutFractions(state) as NonNullable<ChangeState>;
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
