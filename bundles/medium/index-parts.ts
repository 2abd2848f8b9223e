import type { Digest } from '../digest.ts';
import { FleetError } from '../errors.ts';
import type { Span } from '../layout/read-span.ts';
import { type Gathered, type GatheredPart, partTitle } from './gather-parts.ts';
import type { Medium, MediumPart, MediumParts } from './medium.ts';
import { blobPath, digestOfPath } from './open-tar.ts';

/** Where every file of a set lies, of the parts that are here. */
export type PartIndex = {
  /** One for each number, sorted. */
  readonly here: readonly GatheredPart[];
  readonly damaged: MediumParts['damaged'];
  readonly missing: readonly number[];
  readonly paths: () => Iterable<string>;
  /** Where a file lies: once, or in the first few parts where all have it. */
  readonly find: (path: string) => readonly { readonly part: GatheredPart; readonly span: Span }[];
  /** What the content of a blob or piece must hash to. */
  readonly digestOf: (path: string) => Digest | undefined;
  /** Every byte of the blob is here. */
  readonly isWhole: (digest: Digest) => boolean;
  readonly partOf: MediumParts['partOf'];
};

/** Copies of what every part has that are remembered: one is read, two are to spare. */
const COPIES = 3;

/**
 * Holds the parts against the table of contents that all of them carry: a part has its own files and what every part has,
 * and nothing that belongs to another. One that does not is set aside by name.
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
    // A good copy of the same part makes up for a bad one.
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

/** Why a part is none of this set, or undefined. */
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
    if (!piece && path.startsWith('fleet/chunks/')) return `it holds ${path}, which nothing names`;
  }
  return undefined;
};
