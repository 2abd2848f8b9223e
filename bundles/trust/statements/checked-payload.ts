import type { Json } from '../../json/canonical.ts';
import { parseAs } from '../../json/parse-as.ts';
import type { PublishedDocument } from '../../json/schema/published-document.ts';
import { PREDICATES, type StatementKind } from '../../media-types.ts';
import { encodeStatement, parseStatement, type Subject } from './verify-statement.ts';

/**
 * The payload of a statement to sign, read once as its readers will: what they would refuse is never signed.
 * @param schema of the predicate
 * @throws FleetError SCHEMA, TOO_LARGE, TOO_DEEP
 */
export const checkedPayload = (
  subjects: readonly Subject[],
  kind: StatementKind,
  schema: PublishedDocument,
  predicate: Json,
): Buffer => {
  const payload = encodeStatement(subjects, PREDICATES[kind], predicate);
  const what = `the new ${kind} statement`;
  parseAs(schema, parseStatement(payload, what).predicate, what);
  return payload;
};
