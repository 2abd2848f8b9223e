import type { Digest } from '../digest.ts';
import { MAX_STATEMENT_BYTES } from '../statements/envelope.ts';
import type { BlobSource } from './blobs.ts';
import type { Document } from './document.ts';
import { readBlob } from './verified.ts';

/** Signature files of one role among documents, as they lie there, nothing checked; `about`: those about one bundle. */
export const statementFiles = async (
  blobs: BlobSource,
  documents: readonly Document[],
  role: string,
  about?: Digest,
): Promise<Buffer[]> =>
  Promise.all(
    documents
      .filter((one) => one.role === role && (about === undefined || one.about === about))
      .map(({ digest }) => readBlob(blobs, digest, MAX_STATEMENT_BYTES)),
  );
