import { byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { TarEntry } from '#bundles/formats/archive/write-tar';
import { type Digest, digestOf } from '#bundles/digest';
import { readBlob, verified, wrongSize } from '#bundles/formats/layout/verified';
import type { Chunked, Medium } from '#bundles/formats/medium/medium';
import type { Plan, PlannedBlob } from './plan.ts';
import type { Source } from '../source/source.ts';
import { metadataOf } from './metadata.ts';
import { type Part, partsOf } from './medium/part.ts';
import type { WriteOptions } from '../write/write-options.ts';

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
