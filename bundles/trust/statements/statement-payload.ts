import type { Json } from '../../json/canonical.ts';
import { PUBLISHED } from '../../json/schema/validators.js';
import type { StatementKind } from '../../media-types.ts';
import { checkedPayload } from './checked-payload.ts';
import type { Subject } from './verify-statement.ts';

/** checkedPayload for any kind of statement. @throws FleetError SCHEMA, TOO_LARGE, TOO_DEEP */
export const statementPayload = (
  subjects: readonly Subject[],
  kind: StatementKind,
  predicate: Json,
): Buffer => checkedPayload(subjects, kind, PUBLISHED[`${kind}-predicate`], predicate);
