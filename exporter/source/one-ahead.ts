import type { Digest } from '#bundles/digest';
import type { BlobRef } from '#bundles/medium/medium';
import type { Source } from './source.ts';

type Wanted = BlobRef & { readonly repository: string };

type Begun = {
  readonly digest: Digest;
  readonly first: Promise<IteratorResult<Uint8Array>>;
  readonly chunks: AsyncIterator<Uint8Array>;
  readonly stop: AbortController;
};

/** About what a line carries while a question travels; earlier would leave a connection waiting that others could cut. */
const NEAR_END = 16 << 20;

/**
 * For who copies blobs one after the other: the next is asked for when the end of the one before is near, so that no two are parted
 * by a journey to the source and back. Disposed of, it closes what nobody came for; the source itself stays open.
 * @param order in which they will be copied, about: whoever asks for another one gets that
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
    // It is thrown when it is its turn.
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
      stream: (repository, digest, signal, buffers) =>
        buffers ? source.stream(repository, digest, signal, buffers) : stream(repository, digest, signal),
    },
    [Symbol.asyncDispose]: drop,
  };
};
