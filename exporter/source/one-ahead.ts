import type { Digest } from '#bundles/digest';
import type { BlobRef } from '#bundles/formats/medium/medium';
import type { Source } from './source.ts';

type Wanted = BlobRef & { readonly repository: string };

type Begun = {
  readonly digest: Digest;
  readonly first: Promise<IteratorResult<Uint8Array>>;
  readonly chunks: AsyncIterator<Uint8Array>;
  readonly stop: AbortController;
};

/** About the bytes that a line carries during one round trip. Starting earlier would leave an idle connection, which may be closed. */
const NEAR_END = 16 << 20;

/**
 * Prefetches for a caller that copies blobs sequentially: requests the next blob shortly before the end of the current one, which
 * saves a round trip for each. Disposing closes the prefetched stream; the source stays open.
 * @param order expected order of the copies; other requests also work
 */
export const oneAhead = (
  source: Source,
  order: readonly Wanted[],
): { readonly source: Source } & AsyncDisposable => {
  const nextOf = new Map(order.map(({ digest, size }, index) => [digest, { size, next: order[index + 1] }]));
  let begun: Begun | undefined;

  const begin = ({ repository, digest }: Omit<Wanted, 'size'>, signal?: AbortSignal): Begun => {
    const stop = new AbortController();
    const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal;
    const chunks = source.stream(repository, digest, either)[Symbol.asyncIterator]();
    const first = chunks.next();
    // The reader of this blob awaits and gets the error.
    first.catch(() => {});
    return { digest, first, chunks, stop };
  };

  const drop = async (): Promise<void> => {
    const unwanted = begun;
    begun = undefined;
    unwanted?.stop.abort();
    await unwanted?.first.catch(() => {});
    await unwanted?.chunks.return?.();
  };

  async function* stream(
    repository: string,
    digest: Digest,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    if (begun?.digest !== digest) await drop();
    const { first, chunks } = begun ?? begin({ repository, digest }, signal);
    begun = undefined;
    const { size = 0, next } = nextOf.get(digest) ?? {};
    let seen = 0;
    try {
      for (let step = await first; step.done !== true; step = await chunks.next()) {
        seen += step.value.byteLength;
        if (next && !begun && size - seen <= NEAR_END) begun = begin(next, signal);
        yield step.value;
      }
    } finally {
      await chunks.return?.();
    }
  }

  return {
    source: {
      ...source,
      stream,
    },
    [Symbol.asyncDispose]: drop,
  };
};
