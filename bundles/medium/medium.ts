import { checkPath, MEDIUM_PATHS } from '../archive/entry-path.ts';
import type { RandomAccess } from '../archive/random-access.ts';
import type { BundleKind } from '../bundle/config.ts';
import type { Digest } from '../digest.ts';
import { digestOf, hexOf } from '../digest.ts';
import { FleetError } from '../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Document } from '../layout/document.ts';
import type { ReadOptions } from '../layout/read-span.ts';
import type { Timestamp } from '../time.ts';
import { readDocument } from '../validate.ts';

export type BlobRef = { readonly digest: Digest; readonly size: number };

/** One bundle on the medium and what it counts on being at the site already. */
export type MediumBundle = BlobRef & {
  readonly environment: string;
  readonly clusterType: string;
  readonly kind: BundleKind;
  /** Blobs of its closure that are not on the medium. */
  readonly assumed: readonly BlobRef[];
  /** Bundles whose blobs those are, as the site reported them. */
  readonly base?: readonly Digest[];
};

/** A blob larger than the part size: its pieces in order. */
export type Chunked = BlobRef & { readonly files: readonly (BlobRef & { readonly path: string })[] };

/** What makes a blob that was left out of one that the site has. The patch is a plain file; in a set of parts a blob of one of them. */
export type Delta = BlobRef & {
  readonly base: Digest;
  readonly form: 'plain' | 'gzip';
  readonly patch: BlobRef & { readonly path: string };
};

/** fleet/medium.json: a table of contents, believed only after the statements it names are verified. */
export type Medium = {
  readonly format: 1;
  readonly fleet: string;
  readonly createdAt: Timestamp;
  readonly documents: readonly Document[];
  readonly bundles: readonly MediumBundle[];
  readonly chunks: readonly Chunked[];
  /** Blobs beside the documents, and their bytes: what nobody has to list the stick for. */
  readonly carries?: { readonly blobs: number; readonly bytes: number };
  /** Of a set of parts: the blobs and pieces that one part alone has; every part has the others. */
  readonly parts?: readonly MediumPart[];
  /** Blobs that are assumed, and can be made of others that are. Then `critical` names 'deltas'. */
  readonly deltas?: readonly Delta[];
  readonly critical: readonly string[];
};

/** Numbers count from 1. `files`: paths as in a directory, sorted. */
export type MediumPart = { readonly number: number; readonly files: readonly string[] };

/** A medium, open for reading: a directory, one tar file or a set of parts, all at random access and nothing of it believed. */
export type OpenMedium = AsyncDisposable & {
  /** What the person called it; several sticks with commas between them. */
  readonly path: string;
  readonly form: 'directory' | 'tar' | 'parts';
  /** Only of the form 'parts'. */
  readonly parts?: MediumParts;
  /** Folders in which people and agents may leave plain files: the sticks; none for a tar. */
  readonly roots: readonly string[];
  /** undefined: nobody has filled this medium yet (it may still hold requests and reports). */
  readonly medium: Medium | undefined;
  readonly blobs: BlobSource;
  /** Files below a folder such as fleet/reports, as paths from the medium's root, sorted. */
  readonly files: (folder: string) => Promise<readonly string[]>;
  /** A small file. @throws FleetError MISSING_BLOB, TOO_LARGE */
  readonly readFile: (path: string, maxBytes: number) => Promise<Buffer>;
};

/** A file that holds a part, or cannot be read as the one that it should be. */
export type PartFile = {
  readonly number: number;
  /** As a person would find it: the stick's path and the file's on it. */
  readonly path: string;
  /** Bytes of the file, sealed or not. */
  readonly size: number;
  /** Of the whole file, as the stick's fleet/parts.json says; unsigned. */
  readonly digest?: Digest;
};

/** What of a set is here. */
export type MediumParts = {
  readonly set: Digest;
  readonly count: number;
  readonly sealed: boolean;
  /** One for each number, sorted. */
  readonly here: readonly PartFile[];
  /** Numbers that no readable file here has, sorted. */
  readonly missing: readonly number[];
  /** Files that should be one of `missing`, and why they cannot be read. */
  readonly damaged: readonly (PartFile & { readonly error: FleetError })[];
  /** Numbers of the parts, here or not, that a blob's bytes lie in; all of them for a blob that every part has. */
  readonly partOf: (digest: Digest) => readonly number[];
  /** A piece of a blob that is cut (`Chunked`), by its path; undefined where its part is not here. */
  readonly piece: (path: string, options?: ReadOptions) => AsyncIterable<Uint8Array> | undefined;
};

/** What sealed parts are opened with. @throws (unseal) FleetError NOT_A_RECIPIENT */
export type OpenOptions = { readonly unseal?: (bytes: RandomAccess) => Promise<RandomAccess> };

/** Where things lie on a medium (docs/bundle-format.md section 10). All of [a-z0-9._/-], at most 100 bytes. */
export const MEDIUM_FILE = 'fleet/medium.json';
export const REQUESTS_FOLDER = 'fleet/requests';
export const REPORTS_FOLDER = 'fleet/reports';
export const RECEIPTS_FOLDER = 'fleet/receipts';
export const CHUNKS_FOLDER = 'fleet/chunks';
export const DELTAS_FOLDER = 'fleet/deltas';
export const PARTS_FOLDER = 'fleet/parts';
/** What a part begins with. */
export const PART_FILE = 'fleet/part.json';
/** The parts on a stick: with it a set is there. */
export const PARTS_FILE = 'fleet/parts.json';
/** Parts that are done of a set that is not there yet. */
export const PROGRESS_FILE = 'fleet/parts/progress.json';

/** First 32 hex digits of SHA-256 of '<site>/<agent>': no name shows in a path, and FAT32 keeps it. */
export const agentFolder = (agent: string): string =>
  digestOf(agent).slice('sha256:'.length, 'sha256:'.length + 32);

/** 64 MiB: some hundred thousand assumed blobs. */
export const MAX_MEDIUM_BYTES = 64 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME, MEDIUM_INVALID */
export const parseMedium = (bytes: Uint8Array): Medium => {
  const medium = readDocument<Medium>('medium', bytes, { maxBytes: MAX_MEDIUM_BYTES }, MEDIUM_FILE);
  for (const { path } of medium.chunks.flatMap(({ files }) => files)) checkFilePath(path, CHUNKS_FOLDER);
  const cut = new Set<Digest>();
  for (const { digest } of medium.chunks) {
    if (cut.has(digest))
      throw new FleetError('MEDIUM_INVALID', `${MEDIUM_FILE} has blob ${digest} cut twice`);
    cut.add(digest);
  }
  if (medium.parts) {
    checkParts(medium.parts, medium.chunks);
    checkPatches(medium.parts, medium.deltas ?? []);
  } else for (const { patch } of medium.deltas ?? []) checkFilePath(patch.path, DELTAS_FOLDER);
  return medium;
};

/** A file in two parts or in none, or a number left out, would make what is missing a matter of opinion. */
const checkParts = (parts: readonly MediumPart[], chunks: readonly Chunked[]): void => {
  const wrong = parts.findIndex(({ number }, index) => number !== index + 1);
  if (wrong >= 0) {
    throw new FleetError(
      'MEDIUM_INVALID',
      `${MEDIUM_FILE} has a part ${parts[wrong]?.number} where ${wrong + 1} belongs`,
    );
  }
  const seen = new Set<string>();
  for (const path of parts.flatMap(({ files }) => files)) {
    if (seen.has(path)) throw new FleetError('MEDIUM_INVALID', `${MEDIUM_FILE} has ${path} in two parts`);
    seen.add(path);
  }
  const lost = chunks.flatMap(({ files }) => files).find(({ path }) => !seen.has(path));
  if (lost) throw new FleetError('MEDIUM_INVALID', `${MEDIUM_FILE} has ${lost.path} in no part`);
};

/** Whole, in one part: who has that part can make the blob, and nobody has to keep what no signature names. */
const checkPatches = (parts: readonly MediumPart[], deltas: readonly Delta[]): void => {
  const own = new Set(deltas.length === 0 ? [] : parts.flatMap(({ files }) => files));
  for (const { patch } of deltas) {
    if (patch.path === `blobs/sha256/${hexOf(patch.digest)}` && own.has(patch.path)) continue;
    throw new FleetError(
      'MEDIUM_INVALID',
      `${MEDIUM_FILE} names the patch ${patch.path}, which is no blob of one of its parts`,
    );
  }
};

/** The one place where a medium names files: a path from here is joined to the medium's folder. */
const checkFilePath = (path: string, folder: string): void => {
  checkPath(path, MEDIUM_PATHS);
  if (path.startsWith(`${folder}/`)) return;
  throw new FleetError('BAD_NAME', `${MEDIUM_FILE} names ${path}, which is not below ${folder}`);
};
