import type { Descriptor } from '../bundle/manifest.ts';
import type { Digest } from '../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { type Buffers, newBuffers } from '../layout/read-span.ts';
import { verified } from '../layout/verified.ts';
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

/**
 * @param onCarried told of every blob as it arrives in a repository
 * @param placeOf a repository, by its path, that is known to have a blob which nobody brought
 */
export const openCarrier = (
  blobs: BlobSource,
  onCarried: (path: string, blob: Descriptor, how: Carried) => void = () => {},
  placeOf: (digest: Digest) => string | undefined = () => undefined,
): Carrier => {
  const limit = makeLimit(UPLOADS_AT_ONCE);
  /** Who brings a blob into a repository, and who was the first to bring it anywhere. */
  const brought = new Map<string, Promise<Carried>>();
  const firsts = new Map<Digest, { readonly path: string; readonly done: Promise<unknown> }>();
  /** Of blobs that have arrived. Those of a try that failed may still be on their way down a dead line. */
  const idle: Buffers[] = [];
  const send = async (
    shelf: Shelf,
    { digest, size }: Descriptor,
    options: Parameters<Shelf['pushBlob']>[2] & { readonly signal: AbortSignal },
  ): Promise<Carried> => {
    let free: Buffers | undefined;
    const open = async (): Promise<AsyncIterable<Uint8Array>> => {
      const buffers = idle.pop() ?? newBuffers();
      const content = await blobs.open(digest, options.signal, buffers);
      return (async function* () {
        let left = size;
        for await (const chunk of verified(digest, size, content, blobs.name)) {
          left -= chunk.byteLength;
          // Nothing is read into them any more, and when all has arrived nothing is on its way out of them.
          if (left === 0) free = buffers;
          yield chunk;
        }
      })();
    };
    const how = await shelf.pushBlob({ digest, size }, open, options);
    if (free) idle.push(free);
    return how;
  };
  const push = async (
    { path, shelf }: { readonly path: string; readonly shelf: Shelf },
    blob: Descriptor,
    signal: AbortSignal,
  ): Promise<Carried> => {
    const { digest } = blob;
    const first = firsts.get(digest);
    // A first that failed has said so to its own repository; this one then tries for itself.
    const there = await first?.done.then(
      () => true,
      () => false,
    );
    const from = first && there ? first.path : placeOf(digest);
    const mount = from !== undefined && from !== path ? { mountFrom: from } : {};
    const how = await limit(() => send(shelf, blob, { signal, ...mount }));
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
