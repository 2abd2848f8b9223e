import type { Digest } from '../digest.ts';
import { parseEnvelope } from '../statements/envelope.ts';
import { parseStatement, type Statement } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

/** What a kept statement says. Its signatures were checked when it was accepted; whether they still count is keptUnder's. */
export const keptPredicate = (kept: KeptStatement): unknown => statementOf(kept).predicate;

/** What a kept statement is about, by the name of the subject; undefined: it says nothing of it. */
export const keptSubject = (kept: KeptStatement, name: string): Digest | undefined =>
  statementOf(kept).subjects.find((subject) => subject.name === name)?.digest;

const statementOf = ({ envelopes }: KeptStatement): Statement => {
  const what = 'the statement accepted before';
  return parseStatement(parseEnvelope(envelopes[0] ?? new Uint8Array(), what).payload, what);
};
