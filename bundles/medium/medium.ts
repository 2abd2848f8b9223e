import { checkPath, MEDIUM_PATHS } from '../archive/entry-path.ts';
import type { BundleKind } from '../bundle/config.ts';
import type { Digest } from '../digest.ts';
import { digestOf } from '../digest.ts';
import { FleetError } from '../errors.ts';
import type { BlobSource } from '../layout/blobs.ts';
import type { Document } from '../layout/document.ts';
import { parseStrictJson } from '../strict-json.ts';
import type { Timestamp } from '../time.ts';
import { parseDocument } from '../validate.ts';

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

/** fleet/medium.json: a table of contents, believed only after the statements it names are verified. */
export type Medium = {
  readonly format: 1;
  readonly fleet: string;
  readonly createdAt: Timestamp;
  readonly documents: readonly Document[];
  readonly bundles: readonly MediumBundle[];
  readonly chunks: readonly Chunked[];
  readonly critical: readonly string[];
};

/** A medium, open for reading: a directory or one tar file, both at random access and nothing of it believed. */
export type OpenMedium = AsyncDisposable & {
  /** What the person called it. */
  readonly path: string;
  readonly form: 'directory' | 'tar';
  /** undefined: nobody has filled this medium yet (it may still hold requests and reports). */
  readonly medium: Medium | undefined;
  readonly blobs: BlobSource;
  /** Files below a folder such as fleet/reports, as paths from the medium's root, sorted. */
  readonly files: (folder: string) => Promise<readonly string[]>;
  /** A small file. @throws FleetError MISSING_BLOB, TOO_LARGE */
  readonly readFile: (path: string, maxBytes: number) => Promise<Buffer>;
};

/** Where things lie on a medium (docs/bundle-format.md section 10). All of [a-z0-9._/-], at most 100 bytes. */
export const MEDIUM_FILE = 'fleet/medium.json';
export const REQUESTS_FOLDER = 'fleet/requests';
export const REPORTS_FOLDER = 'fleet/reports';
export const RECEIPTS_FOLDER = 'fleet/receipts';
export const CHUNKS_FOLDER = 'fleet/chunks';

/** First 32 hex digits of SHA-256 of '<site>/<agent>': no name shows in a path, and FAT32 keeps it. */
export const agentFolder = (agent: string): string =>
  digestOf(agent).slice('sha256:'.length, 'sha256:'.length + 32);

/** 64 MiB: some hundred thousand assumed blobs. */
export const MAX_MEDIUM_BYTES = 64 << 20;

/** @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, SCHEMA, UNSUPPORTED, BAD_NAME */
export const parseMedium = (bytes: Uint8Array): Medium => {
  const json = parseStrictJson(bytes, { maxBytes: MAX_MEDIUM_BYTES }, MEDIUM_FILE);
  const medium = parseDocument<Medium>('medium', json, MEDIUM_FILE);
  for (const { path } of medium.chunks.flatMap(({ files }) => files)) checkChunkPath(path);
  return medium;
};

/** The one place where a medium names files: a path from here is joined to the medium's folder. */
const checkChunkPath = (path: string): void => {
  checkPath(path, MEDIUM_PATHS);
  if (path.startsWith(`${CHUNKS_FOLDER}/`)) return;
  throw new FleetError('BAD_NAME', `${MEDIUM_FILE} names ${path}, which is not below ${CHUNKS_FOLDER}`);
};
