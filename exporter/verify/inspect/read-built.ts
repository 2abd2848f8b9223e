import type { Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';

export type Built = { readonly builder: string; readonly builtAt: string; readonly candidate: string };

/** Builder, time and sources of a bundle, as its statement claims; undefined if it cannot be read. */
export const readBuilt = async (
  blobs: BlobSource,
  documents: readonly Document[],
  bundle: Digest,
): Promise<Built | undefined> => {
  const statement = documents.find(({ role, about }) => role === 'bundle' && about === bundle);
  if (!statement) return undefined;
  try {
    const bytes = await readBlob(blobs, statement.digest, MAX_STATEMENT_BYTES);
    const { payload } = parseEnvelope(bytes, 'bundle statement');
    const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }) as {
      predicate?: Partial<Record<keyof Built, unknown>> | null;
    } | null;
    const { builder, builtAt, candidate } = json?.predicate ?? {};
    if (typeof builder !== 'string' || typeof builtAt !== 'string' || typeof candidate !== 'string')
      return undefined;
    return {
      builder: builder.slice(0, 80),
      builtAt: builtAt.slice(0, 20),
      candidate: candidate.slice(0, 71),
    };
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
