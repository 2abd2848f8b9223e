import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { BlobRef, Chunked, MediumParts, OpenMedium } from '#bundles/formats/medium/medium';
import { NO_PROGRESS } from '#cli/progress';
import { formatTime } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { copyBlob } from './copy-blob.ts';
import { countedBlobs } from '../../images/counted-blobs.ts';
import { checkSpace } from './free-space.ts';
import { partsMissing } from './parts-missing.ts';

/** The blobs of a set that this agent needs; the signed closure names all of them. */
export type WantedOfSet = {
  /** Own blobs of the bundles, and all blobs of images that a provider lacks. */
  readonly wanted: readonly Descriptor[];
  /** The subset of `wanted` that is on absent parts, itself or as a patch. */
  readonly later: readonly Descriptor[];
  /** Numbers of the parts that hold a blob or its patch. */
  readonly partsWith: (digest: Digest) => readonly number[];
  /** Small blobs that are stored already; they stay pinned. */
  readonly sealed: readonly Digest[];
};

/** One copy into the store: blob, source and the numbers of the parts that hold it. */
type Copy = BlobRef & { readonly from: Pick<BlobSource, 'name' | 'open'>; readonly parts: readonly number[] };

/**
 * Stores and pins the available blobs of a set whose other parts are still to come. Image blobs wait in the store, too,
 * because providers take whole images only. An unreadable blob does not stop the copying of others. After a kill, the next
 * import of any volume of the set continues. Returns only if nothing is missing any more.
 * @throws FleetError PARTS_MISSING, DISK_FULL, or the error of a damaged part, which takes precedence over PARTS_MISSING
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

/** Error codes of a damaged part, volume or copy. */
export const DAMAGE = ['DIGEST_MISMATCH', 'SIZE_MISMATCH', 'TRUNCATED', 'IO'] as const;

/** Numbers of absent parts that hold needed blobs, or needed pieces of chunked blobs, that are not in the store. */
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

/** Path of each piece -> number of its part. A map, because an unsigned table may list hundreds of thousands of pieces. */
const ownersIn = (medium: OpenMedium['medium']): ReadonlyMap<string, number> =>
  new Map(medium?.parts?.flatMap(({ number, files }) => files.map((path) => [path, number] as const)));

/** Records the waiting set before copying, so that its blobs are pinned and `status` can show what is missing. */
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

/** Blobs on the available parts that are not in the store, and pieces of blobs that are available only in part. */
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

/** Checks the unsigned table of contents: the sizes of the pieces must add up to the signed size of their blob. */
const checkPieces = ({ digest, size }: BlobRef, { files }: Chunked, path: string): void => {
  if (files.reduce((sum, piece) => sum + piece.size, 0) === size) return;
  throw new FleetError(
    'SIZE_MISMATCH',
    `the pieces of blob ${shortDigest(digest)} on ${path} do not add up to its size`,
    {
      subject: digest,
      hint: 'Make the medium again with fleet-export',
    },
  );
};

const pieceSource = (name: string, parts: MediumParts, file: string): Pick<BlobSource, 'name' | 'open'> => ({
  name,
  open: async (digest, signal) => {
    const piece = parts.piece(file, { signal });
    if (piece) return piece;
    throw new FleetError('MISSING_BLOB', `${file} was removed from ${name} while it was read`, {
      subject: digest,
      hint: 'Check that the medium is still plugged in, and import it again',
    });
  },
});

const chunkOf = (medium: OpenMedium['medium'], digest: Digest): Chunked | undefined =>
  medium?.chunks.find((chunk) => chunk.digest === digest);
