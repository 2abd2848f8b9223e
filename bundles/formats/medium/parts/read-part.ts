import { fileCursor } from '../../archive/file-cursor.ts';
import type { RandomAccess } from '../../archive/random-access.ts';
import { readItem } from '../../archive/read-item.ts';
import { readTar, type TarItem } from '../../archive/read-tar.ts';
import { type Digest, digestOf } from '../../../digest.ts';
import { FleetError } from '../../../errors.ts';
import type { Span } from '../../layout/read-span.ts';
import { MAX_MEDIUM_BYTES, MEDIUM_FILE, PART_FILE } from '../medium.ts';
import { MAX_LABEL_BYTES, type PartLabel, parsePartLabel } from './part.ts';

/** A part whose headers, label and table of contents are read. */
export type ReadPart = {
  readonly label: PartLabel;
  /** fleet/medium.json, whose digest is the set. */
  readonly medium: Buffer;
  readonly spans: ReadonlyMap<string, Span>;
};

/** Above the entries of any part of ours. */
const MAX_ENTRIES = 250_000;

const BLOB = /^blobs\/sha256\/[0-9a-f]{64}$/;
const PIECE = /^fleet\/chunks\/[0-9a-f]{32}\.\d{3,5}$/;
const METADATA: readonly string[] = ['oci-layout', 'index.json', MEDIUM_FILE];

/**
 * Reads a part and checks its structure: first its label, then the files of the layout and the table of contents of its set, then only
 * blobs and pieces.
 * @throws FleetError of readTar, ORDER, META_TOO_LARGE, DIGEST_MISMATCH, MEDIUM_INVALID
 */
export const readPart = async (bytes: RandomAccess): Promise<ReadPart> => {
  const spans = new Map<string, Span>();
  let label: PartLabel | undefined;
  let medium: Buffer | undefined;
  for await (const item of readTar(fileCursor(bytes, bytes.size), { maxEntries: MAX_ENTRIES })) {
    const { path, offset, size } = item;
    if (!label) {
      if (path !== PART_FILE) throw new FleetError('ORDER', `it does not begin with ${PART_FILE}`);
      label = parsePartLabel(await readItem(item, MAX_LABEL_BYTES));
      continue;
    }
    if (item.directory) continue;
    if (path === MEDIUM_FILE) medium = await readTable(item, label.set);
    else if (METADATA.includes(path)) continue;
    else if (!BLOB.test(path) && !PIECE.test(path))
      throw new FleetError('MEDIUM_INVALID', `it holds ${path}, which belongs to no part`);
    else if (!medium) throw new FleetError('ORDER', `it has blobs before ${MEDIUM_FILE}`);
    spans.set(path, { offset, size });
  }
  if (label && medium) return { label, medium, spans };
  throw new FleetError('MEDIUM_INVALID', `it has no ${label ? MEDIUM_FILE : PART_FILE}`);
};

const readTable = async (item: TarItem, set: Digest): Promise<Buffer> => {
  const bytes = await readItem(item, MAX_MEDIUM_BYTES);
  if (digestOf(bytes) === set) return bytes;
  throw new FleetError('DIGEST_MISMATCH', `its ${MEDIUM_FILE} is not the one of its set`);
};
