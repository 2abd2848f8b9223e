import type { Digest } from '../../../digest.ts';
import { FleetError } from '../../../errors.ts';
import type { Span } from '../../layout/read-span.ts';
import { type Gathered, type GatheredPart, partTitle } from './gather-parts.ts';
import type { Medium, MediumPart, MediumParts } from '../medium.ts';
import { blobPath, digestOfPath } from '../blob-path.ts';

/** Index of the files in the available parts of a set. */
export type PartIndex = {
  /** One for each number, sorted. */
  readonly here: readonly GatheredPart[];
  readonly damaged: MediumParts['damaged'];
  readonly missing: readonly number[];
  readonly paths: () => Iterable<string>;
  /** Places of a file: one, or those in the first few parts for a file that every part has. */
  readonly find: (path: string) => readonly { readonly part: GatheredPart; readonly span: Span }[];
  /** Expected digest of a blob or piece. */
  readonly digestOf: (path: string) => Digest | undefined;
  /** Whether all pieces of the blob are available. */
  readonly isWhole: (digest: Digest) => boolean;
  readonly partOf: MediumParts['partOf'];
};

/** Places kept for a file that every part has: one to read, two in reserve. */
const COPIES = 3;

/**
 * Checks the parts against the table of contents that all of them carry: a part has its own files and the shared ones, and none
 * that belongs to another part. A part that fails is listed in `damaged`.
 */
export const indexParts = (
  { chunks }: Pick<Medium, 'chunks'>,
  planned: readonly MediumPart[],
  gathered: Gathered,
): PartIndex => {
  const owner = new Map<string, number>();
  for (const { number, files } of planned) for (const path of files) owner.set(path, number);
  const pieces = new Map(chunks.flatMap(({ files }) => files.map((piece) => [piece.path, piece] as const)));
  const chunked = new Map(chunks.map((one) => [one.digest, one.files]));

  const places = new Map<string, { readonly part: GatheredPart; readonly span: Span }[]>();
  const byNumber = new Map<number, GatheredPart>();
  const damaged = [...gathered.damaged];
  for (const part of gathered.parts) {
    const fault = faultOf(part, planned, owner, pieces);
    if (fault !== undefined) {
      const { number, path, size } = part;
      const error = new FleetError('MEDIUM_INVALID', `${partTitle(part)}: ${fault}`, {
        hint: 'Copy or send this one part again; the others are good',
      });
      damaged.push({ number, path, size, error });
    } else if (!byNumber.has(part.number)) byNumber.set(part.number, part);
  }
  const here = [...byNumber.values()].toSorted((a, b) => a.number - b.number);
  for (const part of here) {
    for (const [path, span] of part.spans) {
      const known = places.get(path);
      if (!known) places.set(path, [{ part, span }]);
      else if (known.length < COPIES) known.push({ part, span });
    }
  }
  const all = planned.map(({ number }) => number);
  const find = (path: string): readonly { readonly part: GatheredPart; readonly span: Span }[] =>
    places.get(path) ?? [];
  const pathsOf = (digest: Digest): readonly string[] =>
    chunked.get(digest)?.map(({ path }) => path) ?? [blobPath(digest)];
  return {
    here,
    // A good copy of a part replaces a damaged one.
    damaged: damaged.filter(({ number }) => !byNumber.has(number)),
    missing: all.filter((number) => !byNumber.has(number)),
    paths: () => places.keys(),
    find,
    digestOf: (path) => pieces.get(path)?.digest ?? digestOfPath(path),
    isWhole: (digest) => pathsOf(digest).every((path) => places.has(path)),
    partOf: (digest) => {
      const numbers = pathsOf(digest).flatMap((path) => owner.get(path) ?? (places.has(path) ? all : []));
      return [...new Set(numbers)].toSorted((a, b) => a - b);
    },
  };
};

/** Returns why a part does not belong to this set, or undefined. */
const faultOf = (
  { label, number, spans }: GatheredPart,
  planned: readonly MediumPart[],
  owner: ReadonlyMap<string, number>,
  pieces: ReadonlyMap<string, { readonly size: number }>,
): string | undefined => {
  if (label.count !== planned.length)
    return `it says that there are ${label.count} parts, its table of contents has ${planned.length}`;
  const own = planned[number - 1];
  if (!own) return `its table of contents has no part ${number}`;
  const lost = own.files.find((path) => !spans.has(path));
  if (lost !== undefined) return `it lacks ${lost}`;
  for (const [path, { size }] of spans) {
    const belongs = owner.get(path);
    if (belongs !== undefined && belongs !== number)
      return `it holds ${path}, which belongs to part ${belongs}`;
    const piece = pieces.get(path);
    if (piece && piece.size !== size) return `its ${path} has ${size} bytes, not ${piece.size}`;
    if (!piece && path.startsWith('fleet/chunks/'))
      return `it holds ${path}, which is not in its table of contents`;
  }
  return undefined;
};
