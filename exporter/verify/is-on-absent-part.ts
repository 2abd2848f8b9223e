import type { Digest } from '#bundles/digest';
import { blobPath } from '#bundles/formats/medium/blob-path';
import type { Medium } from '#bundles/formats/medium/medium';

/** Tells whether a blob, or a piece of it, is on an absent part. Always false for a medium in one piece. */
export const isOnAbsentPart = (
  { parts = [], chunks }: Medium,
  missing: readonly number[],
): ((digest: Digest) => boolean) => {
  const files = new Set(parts.filter(({ number }) => missing.includes(number)).flatMap((part) => part.files));
  const pieces = new Map(chunks.map((chunk) => [chunk.digest, chunk.files]));
  return (digest) =>
    (pieces.get(digest)?.map(({ path }) => path) ?? [blobPath(digest)]).some((path) => files.has(path));
};
