import type { Digest } from '../../digest.ts';
import { parseEnvelope } from '../../formats/statements/envelope.ts';
import { MAX_SIGNATURES } from '../statements/verify-statement.ts';
import type { KeptStatement } from './trust-state.ts';

type Judged = {
  readonly envelopes: readonly Uint8Array[];
  readonly version: number;
  readonly digest: Digest;
  readonly news: 'newer' | 'same';
};

/**
 * Returns the statement that is the floor from now on. A repeated statement keeps its earlier signatures, one for each key: a copy
 * with fewer must not weaken the floor, which is valid only as long as one of its signers is.
 * @param kept the floor so far
 */
export const newFloorStatement = (
  { envelopes, version, digest, news }: Judged,
  kept: KeptStatement | undefined,
): KeptStatement => ({
  envelopes: news === 'same' ? withKeptSignatures(envelopes, kept) : envelopes,
  version,
  digest,
});

const withKeptSignatures = (
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
