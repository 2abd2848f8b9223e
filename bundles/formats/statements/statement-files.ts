import type { Digest } from '../../digest.ts';
import { MAX_STATEMENT_BYTES } from './envelope.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Document } from '../layout/document.ts';
import { readBlob } from '../layout/verified.ts';

/** Reads the statement files of one role, unverified. @param about only those about this bundle */
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
