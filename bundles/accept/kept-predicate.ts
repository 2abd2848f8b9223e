import { MAX_STATEMENT_BYTES, parseEnvelope } from '../statements/envelope.ts';
import { parseStrictJson } from '../strict-json.ts';
import type { KeptStatement } from './trust-state.ts';

/** What a kept statement says. Its signatures were checked when it was accepted; whether they still count is keptUnder's. */
export const keptPredicate = ({ envelopes }: KeptStatement): unknown => {
  const what = 'the statement accepted before';
  const { payload } = parseEnvelope(envelopes[0] ?? new Uint8Array(), what);
  return (parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, what) as { predicate: unknown })
    .predicate;
};
