import type { Digest } from '../../digest.ts';
import { parseEnvelope } from '../../formats/statements/envelope.ts';
import { parseStatement, type Statement } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

/** Predicate of a kept statement. Its signatures were verified at acceptance; keptUnder verifies them under a new root. */
export const keptPredicate = (kept: KeptStatement): unknown => statementOf(kept).predicate;

/** Digest of a subject of a kept statement; undefined when it has no subject of that name. */
export const keptSubject = (kept: KeptStatement, name: string): Digest | undefined =>
  statementOf(kept).subjects.find((subject) => subject.name === name)?.digest;

const statementOf = ({ envelopes }: KeptStatement): Statement => {
  const what = 'the statement accepted before';
  return parseStatement(parseEnvelope(envelopes[0] ?? new Uint8Array(), what).payload, what);
};
