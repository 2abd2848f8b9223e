import { Readable, type Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Bytes as a transform of zlib passes them on; whoever stops reading ends both. Errors come out as they are thrown. */
export async function* through(
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
