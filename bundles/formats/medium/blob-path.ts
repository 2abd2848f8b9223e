import { type Digest, digestFromHex, hexOf } from '../../digest.ts';

const BLOB = /^blobs\/sha256\/([0-9a-f]{64})$/;

/** Path of a blob in a layout. */
export const blobPath = (digest: Digest): string => `blobs/sha256/${hexOf(digest)}`;

/** The digest of a blob path, undefined for any other file. */
export const digestOfPath = (path: string): Digest | undefined => {
  const hex = BLOB.exec(path)?.[1];
  return hex === undefined ? undefined : digestFromHex(hex);
};
