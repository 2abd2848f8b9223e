import type { Descriptor } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { verified } from '#bundles/layout/verified';
import type { Shelf } from './destination.ts';
import { makeLimit } from './limit.ts';

export type Carried = 'there' | 'mounted' | 'uploaded';

/** Brings blobs into repositories, each over the wire once: where another repository has one, it is mounted from there. */
export type Carrier = {
  readonly bring: (
    to: { readonly path: string; readonly shelf: Shelf },
    blob: Descriptor,
    signal: AbortSignal,
  ) => Promise<Carried>;
};

/** More do not make one line faster, and each holds a file open. */
const UPLOADS_AT_ONCE = 4;

/** @param onCarried told of every blob as it arrives in a repository */
export const openCarrier = (
  blobs: BlobSource,
  onCarried: (path: string, blob: Descriptor, how: Carried) => void = () => {},
): Carrier => {
  const limit = makeLimit(UPLOADS_AT_ONCE);
  /** Who brings a blob into a repository, and who was the first to bring it anywhere. */
  const brought = new Map<string, Promise<Carried>>();
  const firsts = new Map<Digest, { readonly path: string; readonly done: Promise<unknown> }>();
  const push = async (
    { path, shelf }: { readonly path: string; readonly shelf: Shelf },
    blob: Descriptor,
    signal: AbortSignal,
  ): Promise<Carried> => {
    const { digest, size } = blob;
    const first = firsts.get(digest);
    // A first that failed has said so to its own repository; this one then tries for itself.
    const there = await first?.done.then(
      () => true,
      () => false,
    );
    const how = await limit(() =>
      shelf.pushBlob(
        { digest, size },
        async () => verified(digest, size, await blobs.open(digest, signal), blobs.name),
        { signal, ...(first && there && first.path !== path && { mountFrom: first.path }) },
      ),
    );
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
