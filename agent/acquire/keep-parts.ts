import type { Descriptor } from '#bundles/bundle/manifest';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import type { BlobRef, Chunked, MediumParts, OpenMedium } from '#bundles/medium/medium';
import { NO_PROGRESS } from '#bundles/program/progress';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { checkAborted } from '../journal/boundary.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';
import { copyBlob } from './copy-blob.ts';
import { countedBlobs } from './counted-blobs.ts';
import { checkSpace } from './free-space.ts';
import { partsMissing } from './parts-missing.ts';

/** What this agent needs of a set, all of it named by the signed closure. */
export type WantedOfSet = {
  /** Own blobs of the bundles, and all blobs of the images that some provider lacks. */
  readonly wanted: readonly Descriptor[];
  /** Those of it that lie on parts which are not here, or the patches for them do. */
  readonly later: readonly Descriptor[];
  /** Numbers of the parts that bring a blob, or its patch. */
  readonly partsWith: (digest: Digest) => readonly number[];
  /** What is small and here already: it stays pinned. */
  readonly sealed: readonly Digest[];
};

/** A piece of work: into the store, from where. */
type Copy = BlobRef & { readonly from: Pick<BlobSource, 'name' | 'open'>; readonly parts: readonly number[] };

/**
 * Keeps what is here of a set whose other parts are to come, in the store and pinned: providers take whole images only, so
 * their blobs wait here too. A blob that cannot be read keeps no other away. Killed anywhere, the next import of any stick
 * of the set goes on.
 * @throws FleetError PARTS_MISSING, or that of a part which is damaged, whatever is still to come; DISK_FULL. Returns only
 * where nothing is missed any more
 */
export const keepParts = async (
  agent: Agent,
  medium: OpenMedium,
  parts: MediumParts,
  needed: WantedOfSet,
): Promise<void> => {
  const copies = await copiesOf(agent, medium, parts, needed.wanted);
  const missing = await neededParts(agent, medium, parts, needed);
  note(agent, medium, parts, needed, missing);
  await checkSpace(agent, copies, 0);
  const damaged: { readonly numbers: readonly number[]; readonly error: FleetError }[] = [];
  const { begin, advance, end } = agent.progress ?? NO_PROGRESS;
  if (copies.length > 0)
    begin({ name: 'copying', total: copies.reduce((total, { size }) => total + size, 0) });
  for (const copy of copies) {
    checkAborted(agent.signal);
    try {
      await copyBlob(agent, countedBlobs(copy.from, advance), copy);
      agent.onJournal(`keep ${copy.digest}`);
    } catch (cause) {
      const error = toFleetError(cause);
      if (!DAMAGE.some((code) => isFleetError(error, code))) throw error;
      damaged.push({ numbers: copy.parts, error });
    }
  }
  end();
  const all = [...missing, ...damaged.flatMap(({ numbers }) => numbers)];
  if (all.length === 0) return;
  note(agent, medium, parts, needed, all);
  throw partsMissing(medium, parts, missing, damaged[0]?.error);
};

/** What a bad part, stick or copy shows itself by. */
export const DAMAGE = ['DIGEST_MISMATCH', 'SIZE_MISMATCH', 'TRUNCATED', 'IO'] as const;

/** Numbers of the parts that are not here and have what is not in the store: of a blob that was cut, the pieces that are not. */
const neededParts = async (
  { state }: Agent,
  { medium }: OpenMedium,
  { missing }: MediumParts,
  { later, partsWith }: WantedOfSet,
): Promise<readonly number[]> => {
  const numbers: number[] = [];
  const owners = ownersIn(medium);
  for (const { digest } of later) {
    const chunk = chunkOf(medium, digest);
    if (!chunk) numbers.push(...partsWith(digest));
    for (const piece of chunk?.files ?? []) {
      if ((await state.blobs.size(piece.digest)) === undefined) numbers.push(owners.get(piece.path) ?? 0);
    }
  }
  return numbers.filter((number) => missing.includes(number));
};

/** By the path of what one part alone has: a stranger's table may cut a blob into hundreds of thousands of pieces. */
const ownersIn = (medium: OpenMedium['medium']): ReadonlyMap<string, number> =>
  new Map(medium?.parts?.flatMap(({ number, files }) => files.map((path) => [path, number] as const)));

/** Before a byte is copied: what comes is pinned from the first on, and `status` can say what is waited for. */
const note = (
  { state, edge }: Agent,
  { medium }: OpenMedium,
  { set, count }: MediumParts,
  { wanted, sealed }: WantedOfSet,
  missing: readonly number[],
): void => {
  const before = readCondition(state, 'parts');
  const pieces = wanted.flatMap(({ digest }) => chunkOf(medium, digest)?.files ?? []);
  saveCondition(state, 'parts', {
    set,
    count,
    missing: [...new Set(missing)].toSorted((a, b) => a - b),
    since: before?.set === set ? before.since : formatTime(edge.now()),
    blobs: [...new Set([...[...wanted, ...pieces].map(({ digest }) => digest), ...sealed])],
  });
};

/** What is here and not in the store: blobs, and of those that are here in part their pieces. */
const copiesOf = async (
  { state }: Agent,
  { medium, blobs, path }: OpenMedium,
  parts: MediumParts,
  wanted: readonly Descriptor[],
): Promise<readonly Copy[]> => {
  const copies: Copy[] = [];
  const owners = ownersIn(medium);
  for (const blob of wanted) {
    if ((await state.blobs.size(blob.digest)) !== undefined) continue;
    if ((await blobs.size(blob.digest)) !== undefined) {
      copies.push({ ...blob, from: blobs, parts: parts.partOf(blob.digest) });
      continue;
    }
    const chunk = chunkOf(medium, blob.digest);
    if (!chunk) continue;
    checkPieces(blob, chunk, path);
    for (const { path: file, digest, size } of chunk.files) {
      if ((await state.blobs.size(digest)) !== undefined || !parts.piece(file)) continue;
      const from = pieceSource(blobs.name, parts, file);
      copies.push({ digest, size, from, parts: [owners.get(file) ?? 0] });
    }
  }
  return copies;
};

/** The table of contents is unsigned: pieces are kept only as far as the signed size of their blob goes. */
const checkPieces = ({ digest, size }: BlobRef, { files }: Chunked, path: string): void => {
  if (files.reduce((sum, piece) => sum + piece.size, 0) === size) return;
  throw new FleetError(
    'SIZE_MISMATCH',
    `the pieces of blob ${shortDigest(digest)} on ${path} have not its size`,
    {
      subject: digest,
      hint: 'Make the medium again with fleet-export',
    },
  );
};

const pieceSource = (name: string, parts: MediumParts, file: string): Pick<BlobSource, 'name' | 'open'> => ({
  name,
  open: async (digest, signal, buffers) => {
    const piece = parts.piece(file, { signal, buffers });
    if (piece) return piece;
    throw new FleetError('MISSING_BLOB', `${file} is not in ${name} any more`, { subject: digest });
  },
});

const chunkOf = (medium: OpenMedium['medium'], digest: Digest): Chunked | undefined =>
  medium?.chunks.find((chunk) => chunk.digest === digest);
