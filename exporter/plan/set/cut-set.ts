import { BLOCK, MAX_SIZE } from '#bundles/formats/archive/tar-header';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { encodeIndex, layoutMarker } from '#bundles/formats/layout/layout';
import { type BlobRef, type Chunked, DELTAS_FOLDER, type Medium } from '#bundles/formats/medium/medium';
import { MAX_PARTS } from '#bundles/formats/medium/parts/part';
import { formatBytes } from '#cli/format-bytes';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { chunkPath } from '../medium/part.ts';
import { entrySize, type Item, allocateParts, plainWithin, volumeSize } from '../allocate-parts.ts';
import type { Plan, PlannedBlob } from '../plan.ts';

/** Limits of a set, in bytes. The size of the last volume applies to all further ones. */
export type SetLimits = { readonly partSize: number; readonly sticks: readonly number[] };

/** A file of a part: a whole blob, or a piece of it that starts at `offset`. */
export type CutFile = Item & { readonly blob: PlannedBlob; readonly offset: number };

export type CutPart = {
  /** Number of the part, from 1. */
  readonly number: number;
  readonly stick: number;
  readonly files: readonly CutFile[];
  /** Size of the part's file in bytes, after sealing if the set is sealed. */
  readonly size: number;
};

/** The assignment of blobs to parts and of parts to volumes, computed before any content is read. */
export type CutSet = {
  readonly parts: readonly CutPart[];
  /** Blobs larger than this many bytes are cut into pieces of this size. */
  readonly pieceSize: number;
  readonly sticks: number;
};

/** Upper bound on pieces of one blob, also in the schema of medium.json. */
const MAX_PIECES = 10_000;
/** Smallest useful content of a part, in bytes; below it the header outweighs the content. */
const MIN_PART_BYTES = 4096;

/**
 * Pure: the same plan and limits give the same parts. Without `sealedSize` the set is not sealed. For several volumes it also tries part
 * sizes that divide a volume evenly, which may need fewer volumes.
 * @throws FleetError USAGE for parts or volumes that are too small
 */
export const cutSet = (
  plan: CutPlan,
  limits: SetLimits,
  sealedSize: (plain: number) => number = (plain) => plain,
): CutSet => {
  const cut = cutBy(plan, limits, sealedSize);
  const even = Math.min(
    ...limits.sticks.map((holds) => Math.floor(holds / Math.ceil(holds / limits.partSize))),
  );
  if (cut.sticks === 1 || even === limits.partSize) return cut;
  try {
    const evened = cutBy(plan, { ...limits, partSize: even }, sealedSize);
    return evened.sticks < cut.sticks ? evened : cut;
  } catch (error) {
    if (isFleetError(error, 'USAGE')) return cut;
    throw error;
  }
};

type CutPlan = Pick<Plan, 'medium' | 'index' | 'blobs'>;

const cutBy = (plan: CutPlan, limits: SetLimits, sealedSize: (plain: number) => number): CutSet => {
  const { partSize, sticks } = limits;
  const shared = plan.blobs.filter((blob) => blob.shared);
  const fixed =
    [
      LABEL_SIZE,
      layoutMarker().byteLength,
      encodeIndex(plan.index).byteLength,
      ...shared.map(({ size }) => size),
    ]
      .map(entrySize)
      .reduce((total, size) => total + size, 0) +
    2 * BLOCK;
  const room = Math.min(
    ...[...sticks.keys()].map((at) =>
      plainWithin(Math.min(partSize, volumeSize(sticks, at + 1)), sealedSize),
    ),
  );
  // The length of the table of contents depends on the cutting of the blobs, and the other way round.
  for (let table = 0, round = 0; ; round += 1) {
    const overhead = fixed + entrySize(table);
    const pieceSize = Math.min(MAX_SIZE - (MAX_SIZE % BLOCK), blocks(room - overhead - BLOCK));
    if (pieceSize < MIN_PART_BYTES) throw tooSmall(limits, sealedSize(overhead));
    const files = filesOf(plan.blobs, pieceSize, limits);
    const packed = allocateParts(files, { partSize, sticks, overhead, sealedSize });
    if (packed.length > MAX_PARTS) throw tooMany(packed.length, limits);
    const parts = packed.map(({ stick, items }, at) => ({ number: at + 1, stick, files: items }));
    const exact = canonicalBytes(tableOf(plan.medium, parts, PLACEHOLDERS)).byteLength;
    if (exact > table) {
      // Adds a margin in each round, because the length could otherwise grow by one byte forever.
      table = exact + round * BLOCK;
      continue;
    }
    const slack = entrySize(table) - entrySize(exact);
    const sizeOf = (at: number): number => sealedSize((packed[at]?.plain ?? 0) - slack);
    return {
      parts: parts.map((part, at) => ({ ...part, size: sizeOf(at) })),
      pieceSize,
      sticks: Math.max(...parts.map(({ stick }) => stick)),
    };
  }
};

/** fleet/medium.json of a set. @param pieces digests of the pieces by their path */
export const tableOf = (
  medium: Plan['medium'],
  parts: readonly Pick<CutPart, 'number' | 'files'>[],
  pieces: { readonly get: (path: string) => Digest | undefined },
): Medium => {
  const cut = parts
    .flatMap(({ files }) => files)
    .filter(({ blob, size }) => size !== blob.size)
    .toSorted((a, b) => a.offset - b.offset);
  const chunks = new Map<Digest, BlobRef & { readonly files: Chunked['files'][number][] }>();
  for (const { blob, path, size } of cut) {
    const { digest } = blob;
    const known = chunks.get(digest) ?? { digest, size: blob.size, files: [] };
    chunks.set(digest, known);
    known.files.push({ path, size, digest: pieces.get(path) ?? NOTHING });
  }
  return {
    ...medium,
    chunks: [...chunks.values()].toSorted((a, b) => (a.digest < b.digest ? -1 : 1)),
    parts: parts.map(({ number, files }) => ({ number, files: files.map(({ path }) => path) })),
  };
};

const NOTHING = digestOf('');
/** A placeholder: all digests have the same length. */
const PLACEHOLDERS: ReadonlyMap<string, Digest> = new Map();

const LABEL_SIZE = canonicalBytes({
  format: 1,
  set: NOTHING,
  number: MAX_PARTS,
  count: MAX_PARTS,
}).byteLength;

const blocks = (bytes: number): number => Math.max(0, bytes - (bytes % BLOCK));

const filesOf = (blobs: readonly PlannedBlob[], pieceSize: number, limits: SetLimits): readonly CutFile[] =>
  blobs
    .filter(({ shared }) => !shared)
    .flatMap((blob): readonly CutFile[] => {
      const { digest, size, repository } = blob;
      if (size <= pieceSize) return [{ path: blobPath(digest), size, blob, offset: 0 }];
      if (repository === DELTAS_FOLDER) throw patchTooLong(size, limits);
      const count = Math.ceil(size / pieceSize);
      if (count > MAX_PIECES) throw tooMany(count, limits);
      return Array.from({ length: count }, (_, at) => ({
        path: chunkPath(digest, at),
        size: Math.min(pieceSize, size - at * pieceSize),
        blob,
        offset: at * pieceSize,
      }));
    });

const tooSmall = ({ partSize, sticks }: SetLimits, overhead: number): FleetError => {
  const least = Math.min(...sticks);
  const what = least < partSize ? `a stick of ${formatBytes(least)}` : `a part of ${formatBytes(partSize)}`;
  return new FleetError(
    'USAGE',
    `${what} is too small: each part begins with ${formatBytes(overhead)} of documents and manifests`,
    { hint: 'Give a larger --part-size or --stick-size, a stick with more room, or fewer channels' },
  );
};

/** A patch is never cut (docs/bundle-format.md section 10). */
const patchTooLong = (size: number, { partSize, sticks }: SetLimits): FleetError =>
  new FleetError(
    'USAGE',
    `a patch of ${formatBytes(size)} does not fit a part of ${formatBytes(Math.min(partSize, ...sticks))}`,
    {
      hint: 'Give a larger --part-size or --stick-size, a stick with more room, or omit --binary-deltas',
    },
  );

const tooMany = (count: number, { partSize, sticks }: SetLimits): FleetError =>
  new FleetError(
    'USAGE',
    `the set would have ${count} parts of at most ${formatBytes(Math.min(partSize, ...sticks))}, and at most ${MAX_PARTS} are supported`,
    { hint: 'Give a larger --part-size, or larger sticks' },
  );
