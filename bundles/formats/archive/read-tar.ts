import { FleetError } from '../../errors.ts';
import { type ByteCursor, byteCursor } from './byte-cursor.ts';
import { claimPaths } from './claim-paths.ts';
import { entryPath, MEDIUM_PATHS } from './entry-path.ts';
import { BLOCK, decodeHeader, isZero, paddingOf, quoted } from './tar-header.ts';

/** Upper bound on entries, directories included. `namePattern` replaces the pattern of MEDIUM_PATHS. */
export type TarLimits = { maxEntries: number; namePattern?: RegExp };

/** One entry. `size` in bytes; `offset` is where its content begins in the archive. */
export type TarItem = {
  path: string;
  size: number;
  directory: boolean;
  offset: number;
  content: AsyncIterable<Uint8Array>;
};

/** Zeros that may follow the end marker: GNU tar rounds up to its record, 10 KiB by default. */
const MAX_PADDING = 1024 * 1024;

/**
 * Reads the outer archive of a medium, which is untrusted. Every entry must be a plain file or directory with a safe path,
 * otherwise the whole archive is refused (security design, sections 5 and 8, T rows). The npm package `tar` is not used: it
 * skips, warns about or silently repairs entries that must be refused here.
 *
 * The caller may read the content of an item once, before it requests the next item. Unread content is skipped; a fileCursor
 * does so by seeking. Only one chunk and the paths seen are held in memory.
 * @throws FleetError BAD_NAME, ENTRY_TYPE, DUPLICATE, TRUNCATED, TAR_SIZE, TAR_CHECKSUM, TOO_MANY, TRAILING
 */
export async function* readTar(
  bytes: AsyncIterable<Uint8Array> | ByteCursor,
  limits: TarLimits,
): AsyncGenerator<TarItem> {
  const rule = { ...MEDIUM_PATHS, pattern: limits.namePattern ?? MEDIUM_PATHS.pattern };
  const claim = claimPaths();
  const cursor = Symbol.asyncIterator in bytes ? byteCursor(bytes) : bytes;
  try {
    for (let count = 1; ; count += 1) {
      const at = cursor.position();
      const block = await takeBlock(cursor);
      if (isZero(block)) return await checkEnd(cursor);
      if (count > limits.maxEntries) {
        throw new FleetError('TOO_MANY', `the archive has more than ${limits.maxEntries} entries`);
      }
      const header = decodeHeader(block, at);
      const { size, directory } = header;
      const path = entryPath(header, rule);
      claim(path, directory);
      // GNU tar writes './' for the folder that it archives.
      if (path === '') continue;
      const content = contentOf(cursor, size, path);
      yield { path, size, directory, offset: at + BLOCK, content: content.chunks() };
      await content.finish();
    }
  } finally {
    await cursor.close();
  }
}

const contentOf = (cursor: ByteCursor, size: number, path: string) => {
  let left = size;
  let skipped = false;

  const ended = (): FleetError =>
    new FleetError('TRUNCATED', `the archive ends ${left} bytes before the entry does`, {
      subject: quoted(path),
      hint: COPY_AGAIN,
    });

  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (skipped)
        throw new FleetError('INTERNAL', 'content is read after its turn', { subject: quoted(path) });
      if (left === 0) return;
      const chunk = await cursor.some(left);
      if (chunk.length === 0) throw ended();
      left -= chunk.length;
      yield chunk;
    }
  }

  const finish = async (): Promise<void> => {
    skipped = left > 0;
    left -= await cursor.skip(left);
    if (left > 0) throw ended();
    // Padding that is cut short needs no check of its own: the next header is then missing.
    if (!isZero(await cursor.take(paddingOf(size)))) {
      throw new FleetError('TRAILING', 'there is data between the end of an entry and the next header', {
        subject: quoted(path),
      });
    }
  };

  return { chunks, finish };
};

const takeBlock = async (cursor: ByteCursor): Promise<Uint8Array> => {
  const block = await cursor.take(BLOCK);
  if (block.length < BLOCK) throw cut(cursor);
  return block;
};

/** Two blocks of zeros end an archive; one of them is read. Only zeros may follow. */
const checkEnd = async (cursor: ByteCursor): Promise<void> => {
  if (!isZero(await takeBlock(cursor))) throw trailing(cursor, 'data');
  for (let padding = 0; padding <= MAX_PADDING; ) {
    const chunk = await cursor.some(BLOCK * 128);
    if (chunk.length === 0) return;
    if (!isZero(chunk)) throw trailing(cursor, 'data');
    padding += chunk.length;
  }
  throw trailing(cursor, 'more than 1 MiB of padding');
};

const COPY_AGAIN = 'Copy it again; it was cut short';

const cut = (cursor: ByteCursor): FleetError =>
  new FleetError('TRUNCATED', `the archive ends at byte ${cursor.position()}, before its end marker`, {
    hint: COPY_AGAIN,
  });

const trailing = (cursor: ByteCursor, what: string): FleetError =>
  new FleetError(
    'TRAILING',
    `there is ${what} behind the archive's end marker, at byte ${cursor.position()}`,
  );
