import { type ByteCursor, byteCursor } from '#bundles/formats/archive/byte-cursor';
import type { PlannedBlob } from '../plan/plan.ts';
import type { Source } from '../source/source.ts';
import { attributeError } from './attribute-error.ts';
import type { Part } from '../plan/medium/part.ts';
import { type PartWriter, writePart } from './write-part.ts';

const CHUNK = 1 << 20;

/**
 * Writes the missing parts of one blob in one pass over the source.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL, IO
 */
export const writeBlob = async (
  writer: PartWriter,
  source: Source,
  blob: PlannedBlob,
  parts: readonly Part[],
  missing: ReadonlySet<string>,
): Promise<void> => {
  const stream = source.stream(blob.repository, blob.digest, writer.signal);
  const cursor = byteCursor(stream);
  try {
    for (const part of parts) {
      const last = part === parts.at(-1);
      if (!missing.has(part.path)) await cursor.skip(part.size);
      else if (!(await writePart(writer, part, last ? rest(cursor) : first(cursor, part.size))))
        await attributeError(source, blob, writer.root, writer.signal);
    }
  } finally {
    await cursor.close();
  }
};

async function* first(cursor: ByteCursor, size: number): AsyncGenerator<Uint8Array> {
  for (let left = size; left > 0; ) {
    const chunk = await cursor.some(Math.min(left, CHUNK));
    if (chunk.byteLength === 0) return;
    left -= chunk.byteLength;
    yield chunk;
  }
}

/** Reads to the end and not only to the announced size, because a blob that is too long is damaged as well. */
async function* rest(cursor: ByteCursor): AsyncGenerator<Uint8Array> {
  for (;;) {
    const chunk = await cursor.some(CHUNK);
    if (chunk.byteLength === 0) return;
    yield chunk;
  }
}
