import type { Json } from '../../json/canonical.ts';
import { type DocumentName, parseDocument } from '../../json/validate.ts';
import { PREDICATES, type StatementKind } from '../../media-types.ts';
import { encodeStatement, parseStatement, type Subject } from './verify-statement.ts';

const SCHEMAS: Readonly<Record<StatementKind, DocumentName>> = {
  bundle: 'bundle-predicate',
  release: 'release-predicate',
  site: 'site-predicate',
  lease: 'lease-predicate',
  report: 'report-predicate',
  receipt: 'receipt-predicate',
  audit: 'audit-predicate',
  promotion: 'promotion-predicate',
  approval: 'approval-predicate',
  decision: 'decision-predicate',
  change: 'change-predicate',
  support: 'support-predicate',
};

/**
 * The payload of a statement to sign, read once as its readers will: what they would refuse is never signed.
 * @throws FleetError SCHEMA, TOO_LARGE, TOO_DEEP
 */
export const statementPayload = (
  subjects: readonly Subject[],
  kind: StatementKind,
  predicate: Json,
): Buffer => {
  const payload = encodeStatement(subjects, PREDICATES[kind], predicate);
  const what = `the new ${kind} statement`;
  parseDocument(SCHEMAS[kind], parseStatement(payload, what).predicate, what);
  return payload;
};
