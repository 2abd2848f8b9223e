import { basename, dirname } from 'node:path';
import { fileCursor } from '#bundles/formats/archive/file-cursor';
import { openFileAccess } from '#bundles/formats/archive/open-file-access';
import type { RandomAccess } from '#bundles/formats/archive/random-access';
import { readItem } from '#bundles/formats/archive/read-item';
import { readTar } from '#bundles/formats/archive/read-tar';
import { BLOCK, encodeHeader, paddingOf } from '#bundles/formats/archive/tar-header';
import { isFleetError } from '#bundles/errors';
import { readSpan } from '#bundles/formats/layout/read-span';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, type Medium, parseMedium } from '#bundles/formats/medium/medium';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { holdsSpan } from './read-back.ts';
import type { Part } from './part.ts';
import type { WorkOptions } from '../work-options.ts';

/** Suffix of a tar that is being written. */
export const PARTIAL = '.partial';

/** The valid beginning of an archive: number of whole entries, and the offset after the last. */
export type TarProgress = { readonly entries: number; readonly offset: number };

/** The table of contents of a partial archive, whose date a resumed run keeps. undefined without one. */
export const mediumOfPartial = async (path: string): Promise<Medium | undefined> => {
  if ((await sizeOf(dirname(path), basename(path))) === undefined) return undefined;
  try {
    await using bytes = await openFileAccess(path);
    for await (const item of readTar(fileCursor(bytes, bytes.size), { maxEntries: 3 })) {
      if (item.path !== MEDIUM_FILE || item.size > MAX_MEDIUM_BYTES) continue;
      return parseMedium(await readItem(item, MAX_MEDIUM_BYTES));
    }
  } catch (error) {
    // Interrupted before the table of contents, or a foreign file.
    if (!isFleetError(error) || error.exitCode !== 4) throw error;
  }
  return undefined;
};

/**
 * Compares the partial archive of a killed run with the expected entries, reading from the device if requested, and returns the valid
 * beginning. Entries are deterministic, so the remaining ones can be appended.
 */
export const findRight = async (
  path: string,
  entries: readonly Part[],
  { readBack, onPhase, onBytes, signal }: WorkOptions & { readonly readBack: boolean },
): Promise<TarProgress> => {
  if ((await sizeOf(dirname(path), basename(path))) === undefined) return { entries: 0, offset: 0 };
  await using bytes = await openFileAccess(path);
  onPhase?.({ name: 'checking what is there', total: bytes.size });
  let offset = 0;
  for (const [at, entry] of entries.entries()) {
    signal?.throwIfAborted();
    const { size, digest } = entry;
    const content = { path, offset: offset + BLOCK, size, digest, whole: false };
    const right =
      (await isFramed(bytes, offset, entry)) &&
      (await holdsSpan(content, { past: readBack, signal, onBytes }));
    if (!right) return { entries: at, offset };
    offset += BLOCK + size + paddingOf(size);
  }
  return { entries: entries.length, offset };
};

/** True if the entry is complete and header and padding are as expected. */
const isFramed = async (bytes: RandomAccess, offset: number, { path, size }: Part): Promise<boolean> => {
  const padding = paddingOf(size);
  if (offset + BLOCK + size + padding > bytes.size) return false;
  const header = encodeHeader({ name: path, prefix: '', size, mode: 0o644, directory: false });
  if (!header.equals(await take(bytes, offset, BLOCK))) return false;
  return Buffer.alloc(padding).equals(await take(bytes, offset + BLOCK + size, padding));
};

const take = async (bytes: RandomAccess, offset: number, size: number): Promise<Buffer> =>
  Buffer.concat(
    (await Array.fromAsync(readSpan(bytes, { offset, size }, 'the archive'))).map((chunk) =>
      Buffer.from(chunk),
    ),
  );
