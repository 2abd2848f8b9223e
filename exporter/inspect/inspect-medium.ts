import type { BundleKind } from '#bundles/bundle/config';
import { compareBytes, type Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Document } from '#bundles/layout/document';
import { readBlob } from '#bundles/layout/verified';
import { type OpenMedium, REPORTS_FOLDER, REQUESTS_FOLDER } from '#bundles/medium/medium';
import { digestOfPath } from '#bundles/medium/open-tar';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/statements/envelope';
import { parseStrictJson } from '#bundles/strict-json';

/** What a medium says of itself. None of it is verified. */
export type Inspection = {
  readonly path: string;
  readonly form: 'directory' | 'tar';
  /** undefined: not filled yet. */
  readonly filled: Contents | undefined;
  readonly reports: readonly string[];
  readonly requests: readonly string[];
};

export type Contents = {
  readonly fleet: string;
  readonly createdAt: string;
  readonly bytes: number;
  readonly blobs: number;
  readonly chunked: number;
  readonly roots: readonly number[];
  readonly releases: readonly {
    readonly channel: string;
    readonly version: number | undefined;
    readonly expires: string | undefined;
  }[];
  readonly bundles: readonly {
    readonly channel: string;
    readonly kind: BundleKind;
    readonly digest: Digest;
    readonly assumedBlobs: number;
    readonly assumedBytes: number;
    readonly base: readonly Digest[];
  }[];
  readonly sites: readonly { readonly site: string; readonly version: number | undefined }[];
  readonly receipts: number;
};

/** Reads the table of contents and the releases, and the sizes of the rest: milliseconds at any size. */
export const inspectMedium = async (open: OpenMedium): Promise<Inspection> => ({
  path: open.path,
  form: open.form,
  filled: await readContents(open),
  reports: await open.files(REPORTS_FOLDER),
  requests: await open.files(REQUESTS_FOLDER),
});

const readContents = async ({ medium, blobs, files }: OpenMedium): Promise<Contents | undefined> => {
  if (!medium) return undefined;
  const { fleet, createdAt, documents, bundles, chunks } = medium;
  const there = [
    ...(await files('blobs')).flatMap((path) => digestOfPath(path) ?? []),
    ...chunks.map(({ digest }) => digest),
  ];
  const sizes = await Promise.all(there.map(async (digest) => (await blobs.size(digest)) ?? 0));
  const releases: Contents['releases'][number][] = [];
  for (const document of ofRole(documents, 'release')) {
    releases.push({
      channel: `${document.environment}/${document.clusterType}`,
      version: document.version,
      expires: await expiryOf(blobs, document),
    });
  }
  return {
    fleet,
    createdAt,
    bytes: sizes.reduce((total, size) => total + size, 0),
    blobs: there.length,
    chunked: chunks.length,
    roots: ofRole(documents, 'root').flatMap(({ version }) => version ?? []),
    releases: releases.toSorted((a, b) => compareBytes(a.channel, b.channel)),
    bundles: bundles.map(({ environment, clusterType, kind, digest, assumed, base }) => ({
      channel: `${environment}/${clusterType}`,
      kind,
      digest,
      assumedBlobs: assumed.length,
      assumedBytes: assumed.reduce((total, { size }) => total + size, 0),
      base: base ?? [],
    })),
    sites: ofRole(documents, 'site').map(({ site = '', version }) => ({ site, version })),
    receipts: ofRole(documents, 'receipt').length,
  };
};

const ofRole = (documents: readonly Document[], role: string): readonly Document[] =>
  documents.filter((document) => document.role === role);

/** What the release claims; undefined where it cannot be read. */
const expiryOf = async (blobs: BlobSource, { digest }: Document): Promise<string | undefined> => {
  try {
    const bytes = await readBlob(blobs, digest, MAX_STATEMENT_BYTES);
    const { payload } = parseEnvelope(bytes, 'release');
    const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }) as {
      predicate?: { expires?: unknown };
    } | null;
    const expires = json?.predicate?.expires;
    return typeof expires === 'string' ? expires.slice(0, 20) : undefined;
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
