import { parseEnvelope } from '../statements/envelope.ts';
import { MAX_SIGNATURES } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

/**
 * The signatures of a statement that came once more, with those it had before: one of each key. A copy that carries fewer
 * must not weaken the floor, which stands only as long as one of its signers does.
 */
export const withKeptSignatures = (
  envelopes: readonly Uint8Array[],
  kept: KeptStatement | undefined,
): readonly Uint8Array[] => {
  const hintOf = (bytes: Uint8Array): string => parseEnvelope(bytes, 'a statement accepted before').hint;
  const hints = new Set(envelopes.map(hintOf));
  return [...envelopes, ...(kept?.envelopes ?? []).filter((bytes) => !hints.has(hintOf(bytes)))].slice(
    0,
    MAX_SIGNATURES,
  );
};
