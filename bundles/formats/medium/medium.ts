import { checkPath, MEDIUM_PATHS } from '../archive/entry-path.ts';
import type { RandomAccess } from '../archive/random-access.ts';
import { type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { ReadOptions } from '../layout/read-span.ts';
import { readAs } from '../../json/parse-as.ts';
import { MEDIUM } from '../../json/schema/validators.js';
import type { Medium } from '../../schemas/types/medium.ts';
import { blobPath } from './blob-path.ts';

export type BlobRef = { readonly digest: Digest; readonly size: number };

/** fleet/medium.json: the table of contents, untrusted until the statements that it names are verified. */
export type { Medium } from '../../schemas/types/medium.ts';

/** One bundle on the medium, and the blobs that it expects at the site. */
export type MediumBundle = Medium['bundles'][number];

/** A blob larger than the part size: its pieces in order. */
export type Chunked = Medium['chunks'][number];

/** A patch that makes a blob from one that the site has. The patch is a plain file; in a set of parts a blob of one part. */
export type Delta = NonNullable<Medium['deltas']>[number];

export type MediumPart = NonNullable<Medium['parts']>[number];

/** A medium, open for reading: a directory, one tar file or a set of parts, with random access. Its content is untrusted. */
export type OpenMedium = AsyncDisposable & {
  /** The path that the user gave; several volumes are separated by commas. */
  readonly path: string;
  readonly form: 'directory' | 'tar' | 'parts';
  /** Only of the form 'parts'. */
  readonly parts?: MediumParts;
  /** Folders in which people and agents may leave plain files: the volumes; none for a tar. */
  readonly roots: readonly string[];
  /** Undefined for a medium that has not been filled; it may still hold requests and reports. */
  readonly medium: Medium | undefined;
  readonly blobs: BlobSource;
  /** Files below a folder such as fleet/reports, as paths from the medium's root, sorted. */
  readonly files: (folder: string) => Promise<readonly string[]>;
  /** A small file. @throws FleetError MISSING_BLOB, TOO_LARGE */
  readonly readFile: (path: string, maxBytes: number) => Promise<Buffer>;
};

/** A file with a part, readable or damaged. */
export type PartFile = {
  readonly number: number;
  /** The volume's path with the file's path on it. */
  readonly path: string;
  /** Bytes of the file, sealed or not. */
  readonly size: number;
  /** Digest of the whole file according to the volume's fleet/parts.json; unsigned. */
  readonly digest?: Digest;
};

/** The available parts of a set. */
export type MediumParts = {
  readonly set: Digest;
  readonly count: number;
  readonly sealed: boolean;
  /** One for each number, sorted. */
  readonly here: readonly PartFile[];
  /** Numbers of the parts without a readable file, sorted. */
  readonly missing: readonly number[];
  /** Damaged files of parts in `missing`, with their errors. */
  readonly damaged: readonly (PartFile & { readonly error: FleetError })[];
  /** Numbers of the parts, available or not, that contain bytes of a blob; all parts for a blob that every part has. */
  readonly partOf: (digest: Digest) => readonly number[];
  /** A piece of a split blob (`Chunked`) by its path; undefined when its part is not available. */
  readonly piece: (path: string, options?: ReadOptions) => AsyncIterable<Uint8Array> | undefined;
};

export type OpenOptions = {
  /** Opens a sealed part; rejects with FleetError NOT_A_RECIPIENT. */
  readonly unseal?: (bytes: RandomAccess) => Promise<RandomAccess>;
  /** Ends every loop over the files of the medium: after an abort each further read rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
};

/** Paths on a medium (docs/bundle-format.md section 10): characters of [a-z0-9._/-], at most 100 bytes. */
export const MEDIUM_FILE = 'fleet/medium.json';
export const REQUESTS_FOLDER = 'fleet/requests';
export const REPORTS_FOLDER = 'fleet/reports';
export const RECEIPTS_FOLDER = 'fleet/receipts';
export const CHUNKS_FOLDER = 'fleet/chunks';
export const DELTAS_FOLDER = 'fleet/deltas';
export const PARTS_FOLDER = 'fleet/parts';
/** Name of a volume: 32 hex digits, written when its departure is first recorded. */
export const VOLUME_FILE = 'fleet/volume';
/** First entry of a part. */
export const PART_FILE = 'fleet/part.json';
/** List of the parts on a volume, written when the set is complete. */
export const PARTS_FILE = 'fleet/parts.json';
/** List of the finished parts of a set that is still being written. */
export const PROGRESS_FILE = 'fleet/parts/progress.json';

/** For people: the sentence of the last machine that accepted the medium when it was plugged in. Not part of its content. */
export const STATUS_FILE = 'FLEET-STATUS.txt';

/** First 32 hex digits of SHA-256 of '<site>/<agent>': no name shows in a path, and FAT32 keeps it. */
export const agentFolder = (agent: string): string =>
  digestOf(agent).slice('sha256:'.length, 'sha256:'.length + 32);

/** 64 MiB: some hundred thousand assumed blobs. */
export const MAX_MEDIUM_BYTES = 64 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME, MEDIUM_INVALID */
export const parseMedium = (bytes: Uint8Array): Medium => {
  const medium = readAs(MEDIUM, bytes, { maxBytes: MAX_MEDIUM_BYTES }, MEDIUM_FILE);
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

/** Part numbers must be contiguous, and every piece must be in exactly one part: otherwise missing parts could not be determined. */
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

/** Every patch must be a whole blob of one part, so that this part alone is enough to apply it. */
const checkPatches = (parts: readonly MediumPart[], deltas: readonly Delta[]): void => {
  const own = new Set(deltas.length === 0 ? [] : parts.flatMap(({ files }) => files));
  for (const { patch } of deltas) {
    if (patch.path === blobPath(patch.digest) && own.has(patch.path)) continue;
    throw new FleetError(
      'MEDIUM_INVALID',
      `${MEDIUM_FILE} names the patch ${patch.path}, which is not a blob of one of its parts`,
    );
  }
};

/** Checks a path that is joined to the medium's folder. */
const checkFilePath = (path: string, folder: string): void => {
  checkPath(path, MEDIUM_PATHS);
  if (path.startsWith(`${folder}/`)) return;
  throw new FleetError('BAD_NAME', `${MEDIUM_FILE} names ${path}, which is not below ${folder}`);
};

/** Name of a report's files in the folder of its agent, without the ending: '000000000001-000000000040'. */
export const reportName = (first: number, last: number): string =>
  [first, last].map((seq) => String(seq).padStart(12, '0')).join('-');
