import { type Digest, digestOf } from '#bundles/digest';
import type { Chunked, Medium } from '#bundles/formats/medium/medium';
import type { Plan, PlannedBlob } from './plan.ts';
import { metadataOf } from './metadata.ts';
import { type Part, partsOf } from './medium/part.ts';

/** An entry of the tar with the digest of its content. */
export type PlannedEntry = Part & {
  /** Bytes of a metadata file. */
  readonly bytes?: Buffer;
  /** Source of its content: a blob, a piece of one, or a small document of `repository`. */
  readonly blob?: PlannedBlob;
  readonly repository?: string;
};

/** Entries in archive order. @param before an earlier medium, whose date is kept if the content is the same */
export const planEntries = (
  plan: Plan,
  chunks: ReadonlyMap<Digest, Chunked>,
  before: Medium | undefined,
): readonly PlannedEntry[] => {
  const { marker, index, medium } = metadataOf(plan, chunks, before);
  const head = [marker, index, medium].map(({ path, bytes }) => ({
    path,
    size: bytes.byteLength,
    digest: digestOf(bytes),
    bytes,
  }));
  const pieces = plan.blobs.flatMap((blob) => partsOf(blob, chunks).map((part) => ({ ...part, blob })));
  return [...head, ...plan.files, ...pieces];
};
