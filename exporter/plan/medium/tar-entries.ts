import { byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { TarEntry } from '#bundles/formats/archive/write-tar';
import { type Digest, digestOf } from '#bundles/digest';
import { readBlob, verified, wrongSize } from '#bundles/formats/layout/verified';
import type { Chunked, Medium } from '#bundles/formats/medium/medium';
import type { Plan, PlannedBlob } from '../plan.ts';
import type { Source } from '../../source/source.ts';
import { metadataOf } from './metadata.ts';
import { type Part, partsOf } from './part.ts';
import type { WriteOptions } from './write-options.ts';

/** An entry of the tar, its content known by its digest before it is written. */
export type PlannedEntry = Part & {
  /** Metadata, which is made and not read. */
  readonly bytes?: Buffer;
  /** Where its content comes from: a blob, or a piece of one; else a small document of `repository`. */
  readonly blob?: PlannedBlob;
  readonly repository?: string;
};

/** In the order in which they lie in the archive. @param before a medium whose date stands if all else is the same */
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

/** Those from number `from` on, with their content. Each blob is read once, however many pieces it lies in. */
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
    // What is read back is hashed then, and not on the way.
    const cursor = byteCursor(options.readBack ? content : verified(blob.digest, blob.size, content, name));
    // What an earlier run wrote of this blob.
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
    // To its end: it may be longer than it should be, and its connection is for the next only then.
    await cursor.some(1);
    await cursor.close();
  }
}

/** Of another size it would not even fit behind its header. */
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
