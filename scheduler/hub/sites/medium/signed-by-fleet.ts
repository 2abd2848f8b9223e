import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import { PREDICATES } from '#bundles/media-types';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { readOptional } from '#bundles/formats/medium/plain-files';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root/root';
import { parseDocument } from '#bundles/json/validate';

/**
 * Filters documents to those that the office provably wrote: receipts and site statements signed by a key of the fleet for the
 * agent or site that the document names, and values and secrets whose digests such a site statement names. Contents must match
 * their digests. An attacker may have listed anything else to get it deleted.
 */
export const signedByFleet = async (
  documents: readonly Document[],
  path: string,
  roots: readonly TrustRoot[],
): Promise<readonly Document[]> => {
  const ours = new Set<Digest>();
  for (const document of documents) {
    const { role, digest } = document;
    const receipts = role === 'receipt' ? receiptNames : undefined;
    const names = role === 'site' ? siteNames : receipts;
    const bytes = names && (await readWhole(path, digest, MAX_STATEMENT_BYTES));
    const named = bytes && firstProof(roots, (root) => names(bytes, root, document));
    if (named) for (const one of [digest, ...named]) ours.add(one);
  }
  const proven: Document[] = [];
  for (const document of documents)
    if (ours.has(document.digest) && (await readWhole(path, document.digest, MAX_BYTES)))
      proven.push(document);
  return proven;
};

/** Larger than any site values or sealed secrets. */
const MAX_BYTES = 16 << 20;

/** undefined if the blob is missing, too large, not a regular file, or does not match its digest. */
const readWhole = async (path: string, digest: Digest, maxBytes: number): Promise<Buffer | undefined> => {
  try {
    const bytes = await readOptional(path, blobPath(digest), maxBytes);
    return bytes && digestOf(bytes) === digest ? bytes : undefined;
  } catch (error) {
    if (!isFleetError(error) || error.exitCode === 1) throw error;
    return undefined;
  }
};

const firstProof = (
  roots: readonly TrustRoot[],
  prove: (root: TrustRoot) => readonly Digest[] | undefined,
): readonly Digest[] | undefined => {
  for (const root of roots.toReversed()) {
    try {
      return prove(root);
    } catch (error) {
      // Not verified under this root: an older one may accept the key.
      if (!isFleetError(error) || error.exitCode !== 4) throw error;
    }
  }
  return undefined;
};

const receiptNames = (bytes: Buffer, root: TrustRoot, { agent }: Document): readonly Digest[] | undefined => {
  if (agent === undefined) return undefined;
  verifyReceipt(bytes, root, agent);
  return [];
};

/** Digests of the values and sealed secrets that a verified site statement names; undefined if it is for another site. */
const siteNames = (bytes: Buffer, root: TrustRoot, { site }: Document): readonly Digest[] | undefined => {
  const what = `the statement of site ${site} on the medium`;
  const { predicate, subjects } = verifyStatement([bytes], root.roles.release, PREDICATES.site, what);
  const { audience } = parseDocument('site-predicate', predicate, what);
  return audience.fleet === root.fleet && audience.site === site
    ? subjects.map(({ digest }) => digest)
    : undefined;
};
