import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseTime, type Timestamp } from '#bundles/time';
import type { Source } from '../source/source.ts';
import type { Plan } from './plan.ts';

/** Statements with an issue time. */
const ISSUED: readonly string[] = ['site', 'release', 'lease'];

/**
 * The issue time of the newest document of a plan. It serves as the creation time of a set, so that the same export on another day gives
 * the same set. The statements were verified when they were offered. @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, REGISTRY_*
 */
export const newestIssued = async (
  source: Source,
  { medium, blobs }: Pick<Plan, 'medium' | 'blobs'>,
  signal?: AbortSignal,
): Promise<Timestamp> => {
  const repositories = new Map(blobs.map(({ digest, repository }) => [digest, repository]));
  let newest: Timestamp | undefined;
  for (const { digest } of medium.documents.filter(({ role }) => ISSUED.includes(role))) {
    const from = source.blobs(repositories.get(digest) ?? '');
    const bytes = await readBlob(from, digest, MAX_STATEMENT_BYTES, signal);
    const { payload } = parseEnvelope(bytes, 'a statement');
    const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, 'a statement');
    const { predicate } = json as { readonly predicate?: { readonly issuedAt?: unknown } };
    const issued = predicate?.issuedAt as Timestamp;
    parseTime(issued, 'issuedAt');
    if (newest === undefined || issued > newest) newest = issued;
  }
  return newest ?? medium.createdAt;
};
