import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Parser } from 'tar';
import { FleetError } from '#bundles/errors';
import { verified } from '#bundles/formats/layout/verified';
import type { Content } from './content.ts';

export type ArchiveWalk = {
  /** Called for each entry in order; `bytes` of the entry are given to `onBytes` where it returns true. */
  readonly isWanted: (path: string, size: number) => boolean;
  readonly onBytes?: (piece: Buffer) => void;
  /** Called after all bytes of a wanted entry. */
  readonly onEnd?: () => void;
  /** Ends the walk; the rest is not read. */
  readonly isDone: () => boolean;
};

/**
 * Walks the entries of a gzip-compressed tar archive (POSIX.1-2017, pax), as tar -z unpacks it. Bytes are verified while they
 * are read.
 * @throws FleetError CONTENT_INVALID for other content; DIGEST_MISMATCH
 */
export const walkArchive = async (
  { digest, size, source }: Content,
  signal: AbortSignal,
  { isWanted, onBytes, onEnd, isDone }: ArchiveWalk,
): Promise<void> => {
  const bytes = Readable.from(verified(digest, size, await source.open(digest, signal), source.name));
  const unzipped = bytes.pipe(createGunzip());
  bytes.once('error', (error) => unzipped.destroy(error));
  let fault: Error | undefined;
  const parser = new Parser({
    strict: true,
    filter: (path, entry) => isWanted(path, entry.size),
    onReadEntry: (entry) => {
      entry.on('data', (piece) => onBytes?.(piece));
      entry.on('end', () => onEnd?.());
    },
  });
  parser.on('error', (error) => (fault ??= error as Error));
  try {
    for await (const piece of unzipped as AsyncIterable<Buffer>) {
      parser.write(piece);
      if (fault || isDone()) break;
    }
    if (!fault && !isDone()) parser.end();
    if (fault) throw fault;
  } catch (error) {
    if (error instanceof FleetError) throw error;
    signal.throwIfAborted();
    throw new FleetError('CONTENT_INVALID', 'it is not a gzip archive, or a damaged one', { cause: error });
  } finally {
    bytes.destroy();
    unzipped.destroy();
  }
};
