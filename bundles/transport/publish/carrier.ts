import type { Descriptor } from '../../formats/layout/manifest.ts';
import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { verified } from '../../formats/layout/verified.ts';
import type { TargetRepository } from './destination.ts';
import { createLimit } from './limit.ts';

export type Carried = 'there' | 'mounted' | 'uploaded';

/** Uploads blobs to repositories, each at most once: a blob that another repository has is mounted from there. */
export type Carrier = {
  readonly bring: (
    to: { readonly path: string; readonly target: TargetRepository },
    blob: Descriptor,
    signal: AbortSignal,
  ) => Promise<Carried>;
};

/** Further uploads would not increase the throughput, and each keeps a file open. */
const UPLOADS_AT_ONCE = 4;

/**
 * @param onCarried called for every blob that arrives in a repository
 * @param placeOf a repository, by its path, that is known to have a blob that this run did not upload
 */
export const openCarrier = (
  blobs: BlobSource,
  onCarried: (path: string, blob: Descriptor, how: Carried) => void = () => {},
  placeOf: (digest: Digest) => string | undefined = () => undefined,
): Carrier => {
  const limit = createLimit(UPLOADS_AT_ONCE);
  /** The upload of each blob to each repository, and the first upload of each blob. */
  const brought = new Map<string, Promise<Carried>>();
  const firsts = new Map<Digest, { readonly path: string; readonly done: Promise<unknown> }>();
  const push = async (
    { path, target }: { readonly path: string; readonly target: TargetRepository },
    blob: Descriptor,
    signal: AbortSignal,
  ): Promise<Carried> => {
    const { digest } = blob;
    const first = firsts.get(digest);
    // When the first upload failed, its own repository reports the error and this one uploads the blob.
    const there = await first?.done.then(
      () => true,
      () => false,
    );
    const from = first && there ? first.path : placeOf(digest);
    const mount = from !== undefined && from !== path ? { mountFrom: from } : {};
    const open = async (): Promise<AsyncIterable<Uint8Array>> =>
      verified(digest, blob.size, await blobs.open(digest, signal), blobs.name);
    const how = await limit(() => target.pushBlob({ digest, size: blob.size }, open, { signal, ...mount }));
    onCarried(path, blob, how);
    return how;
  };
  return {
    bring: (to, blob, signal) => {
      const key = `${to.path}@${blob.digest}`;
      const known = brought.get(key);
      // Counted once.
      if (known) return known.then(() => 'there');
      const work = push(to, blob, signal);
      brought.set(key, work);
      if (!firsts.has(blob.digest)) firsts.set(blob.digest, { path: to.path, done: work });
      return work;
    },
  };
};
