import { byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { TarEntry } from '#bundles/formats/archive/write-tar';
import { readBlob, verified, wrongSize } from '#bundles/formats/layout/verified';
import type { PlannedBlob } from '../plan/plan.ts';
import type { PlannedEntry } from '../plan/plan-entries.ts';
import type { Source } from '../source/source.ts';
import type { WriteOptions } from './write-options.ts';

/** Yields the entries from index `from` on with their content. A blob in several pieces is read once. */
export async function* entriesFrom(
  entries: readonly PlannedEntry[],
  from: number,
  source: Source,
  options: WriteOptions,
): AsyncGenerator<TarEntry> {
  for (let at = from; at < entries.length; ) {
    const entry = entries[at] as PlannedEntry;
    const { path, size, digest, bytes, blob, repository = '' } = entry;
    if (!blob) {
      const content = bytes ?? (await readBlob(source.blobs(repository), digest, size, options.signal));
      yield { path, size, content };
      at += 1;
      continue;
    }
    const content = countedBlob(source, blob, options);
    const { name } = source;
    // Content that is read back is hashed then.
    const cursor = byteCursor(options.readBack ? content : verified(blob.digest, blob.size, content, name));
    // Skips the pieces that an earlier run wrote.
    for (const done of entries.slice(0, at)) if (done.blob === blob) await cursor.skip(done.size);
    for (; entries[at]?.blob === blob; at += 1) {
      const piece = entries[at] as PlannedEntry;
      const content = async function* (): AsyncGenerator<Uint8Array> {
        for (let left = piece.size; left > 0; ) {
          const chunk = await cursor.some(left);
          if (chunk.byteLength === 0) return;
          left -= chunk.byteLength;
          yield chunk;
        }
      };
      yield { path: piece.path, size: piece.size, content: content() };
    }
    // Reads to the end, to detect extra bytes and to release the connection.
    await cursor.some(1);
    await cursor.close();
  }
}

/** @throws FleetError SIZE_MISMATCH, because the size is in the header already */
async function* countedBlob(
  source: Source,
  { digest, size, repository }: PlannedBlob,
  { onBytes, signal }: WriteOptions,
): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of source.stream(repository, digest, signal)) {
    signal?.throwIfAborted();
    seen += chunk.byteLength;
    if (seen > size) throw wrongSize(digest, size, `more than ${size}`, source.name);
    yield chunk;
    onBytes(chunk.byteLength);
  }
  if (seen < size) throw wrongSize(digest, size, String(seen), source.name);
}
