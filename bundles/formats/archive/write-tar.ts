import { FleetError } from '../../errors.ts';
import { claimPaths } from './claim-paths.ts';
import { checkPath, MEDIUM_PATHS } from './entry-path.ts';
import { BLOCK, encodeHeader, paddingOf, quoted } from './tar-header.ts';

/** A file (`size` in bytes; `mode` counts only as executable or not) or a directory. */
export type TarEntry =
  | {
      path: string;
      size: number;
      mode?: number;
      content: AsyncIterable<Uint8Array> | Uint8Array;
    }
  | { path: string; directory: true };

/** End marker. Not padded to records of 10 KiB, which only tapes need. */
const END = new Uint8Array(2 * BLOCK);

/**
 * Writes the outer archive of a medium, in the order of the entries, with one chunk in memory. Deterministic: no times, no
 * owners, modes 0644 and 0755. Reading throws FleetError BAD_NAME and DUPLICATE for paths that readTar would refuse,
 * TAR_SIZE, and SIZE_MISMATCH when content is longer or shorter than its size.
 */
export const writeTar = (entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): AsyncIterable<Uint8Array> =>
  chunksOf(entries);

async function* chunksOf(entries: AsyncIterable<TarEntry> | Iterable<TarEntry>): AsyncGenerator<Uint8Array> {
  const claim = claimPaths();
  for await (const entry of entries) {
    const path = checkPath(entry.path, MEDIUM_PATHS);
    const directory = 'directory' in entry;
    claim(path, directory);
    if (directory) {
      yield encodeHeader({ name: `${path}/`, prefix: '', size: 0, mode: 0o755, directory });
      continue;
    }
    const mode = ((entry.mode ?? 0) & 0o100) === 0 ? 0o644 : 0o755;
    yield encodeHeader({ name: path, prefix: '', size: entry.size, mode, directory });
    yield* exactly(entry.content, entry.size, path);
    const padding = paddingOf(entry.size);
    if (padding > 0) yield END.subarray(0, padding);
  }
  yield END;
}

/** Passes the content on and throws before it exceeds its size: the header with the size is already written. */
async function* exactly(
  content: AsyncIterable<Uint8Array> | Uint8Array,
  size: number,
  path: string,
): AsyncGenerator<Uint8Array> {
  let written = 0;
  for await (const chunk of content instanceof Uint8Array ? [content] : content) {
    written += chunk.length;
    if (written > size) throw mismatch(path, size, `at least ${written}`);
    if (chunk.length > 0) yield chunk;
  }
  if (written < size) throw mismatch(path, size, String(written));
}

const mismatch = (path: string, size: number, got: string): FleetError =>
  new FleetError('SIZE_MISMATCH', `the content has ${got} bytes, ${size} were announced`, {
    subject: quoted(path),
    hint: 'The file changed while it was written; run it again',
  });
