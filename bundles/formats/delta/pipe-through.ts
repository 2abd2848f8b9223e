import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Passes bytes through a transform of zlib. Ending the iteration early ends both. Errors are thrown unchanged. */
export async function* pipeThrough(
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  transform: Transform,
): AsyncGenerator<Uint8Array> {
  const fed = pipeline(Readable.from(bytes), transform);
  fed.catch(() => {});
  try {
    yield* transform as AsyncIterable<Uint8Array>;
    await fed;
  } finally {
    transform.destroy();
    await fed.catch(() => {});
  }
}
