import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { Document } from '#bundles/layout/document';
import { PREDICATES } from '#bundles/media-types';
import { blobPath } from '#bundles/medium/open-tar';
import { readOptional } from '#bundles/medium/plain-files';
import { verifyReceipt } from '#bundles/report/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/statements/envelope';
import type { SitePredicate } from '#bundles/statements/predicates';
import { verifyStatement } from '#bundles/statements/verify-statement';
import type { TrustRoot } from '#bundles/trust/root';
import { parseDocument } from '#bundles/validate';

/**
 * Which of these documents the office put onto this medium: receipts and site statements that a key of the fleet signed for the
 * agent or site that the document names, and the values and secrets that such a site statement names by their digests. The digest
 * itself is proven by the content. Anything else may be a file that somebody wants removed.
 */
export const provenOurs = async (
  documents: readonly Document[],
  path: string,
  roots: readonly TrustRoot[],
): Promise<readonly Document[]> => {
  const ours = new Set<Digest>();
  for (const document of documents) {
    const { role, digest } = document;
    const names = role === 'site' ? siteNames : role === 'receipt' ? receiptNames : undefined;
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

/** Values and sealed secrets are smaller. */
const MAX_BYTES = 16 << 20;

/** Undefined for what is not there, is larger, has another digest, or is no regular file: that is not ours. */
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
      // An older root may know the key.
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

/** Digests of the values and the sealed secrets that came with the statement. */
const siteNames = (bytes: Buffer, root: TrustRoot, { site }: Document): readonly Digest[] | undefined => {
  const what = `the statement of site ${site} on the medium`;
  const { predicate, subjects } = verifyStatement([bytes], root.roles.release, PREDICATES.site, what);
  const { audience } = parseDocument<SitePredicate>('site-predicate', predicate, what);
  return audience.fleet === root.fleet && audience.site === site
    ? subjects.map(({ digest }) => digest)
    : undefined;
};
