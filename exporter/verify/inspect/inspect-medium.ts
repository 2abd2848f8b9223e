import { defined } from '#bundles/defined';
import type { BundleKind } from '#bundles/names';
import { compareBytes, type Digest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { ofRole } from '#bundles/formats/layout/of-role';
import { readBlob } from '#bundles/formats/layout/verified';
import {
  type BlobRef,
  type Medium,
  type MediumParts,
  type OpenMedium,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
} from '#bundles/formats/medium/medium';
import { digestOfPath } from '#bundles/formats/medium/blob-path';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';
import { sum } from '#bundles/sum';
import { type Built, readBuilt } from './read-built.ts';
import { type ClaimedSet, readSecretSets } from './read-secret-sets.ts';

/** Unverified description of a medium, from its own documents. */
export type Inspection = {
  readonly path: string;
  readonly form: 'directory' | 'tar' | 'parts';
  /** undefined: not filled yet, or sealed to others. */
  readonly filled: Contents | undefined;
  /** The available parts of a set. */
  readonly parts?: PartsSeen;
  readonly reports: readonly string[];
  readonly requests: readonly string[];
};

export type PartSeen = {
  /** undefined if neither its name nor a list names it, and it is sealed. */
  readonly number: number | undefined;
  readonly path: string;
  readonly size: number;
  readonly digest?: Digest;
};

export type PartsSeen = {
  /** Of sealed parts without their medium, only the first digits are known. */
  readonly set: string | undefined;
  readonly count: number | undefined;
  readonly sealed: boolean;
  readonly here: readonly PartSeen[];
  readonly missing: readonly number[];
  readonly damaged: readonly { readonly number: number; readonly path: string; readonly message: string }[];
};

export type Contents = {
  readonly fleet: string;
  readonly createdAt: string;
  readonly bytes: number;
  readonly blobs: number;
  readonly chunked: number;
  /** Blobs that a patch rebuilds. */
  readonly patched: number;
  readonly roots: readonly number[];
  readonly releases: readonly {
    readonly channel: string;
    readonly version: number | undefined;
    readonly expires: string | undefined;
    readonly issuedAt: string | undefined;
    /** First digits of the fingerprints of the keys that its signatures claim. */
    readonly signers: readonly string[];
  }[];
  readonly leases: Contents['releases'];
  readonly bundles: readonly {
    readonly channel: string;
    readonly kind: BundleKind;
    readonly digest: Digest;
    readonly assumedBlobs: number;
    readonly assumedBytes: number;
    readonly base: readonly Digest[];
    /** Builder and sources, as its statement claims. */
    readonly built: Built | undefined;
  }[];
  readonly sites: readonly { readonly site: string; readonly version: number | undefined }[];
  /** Sealed sets: only names and sizes are readable. */
  readonly secrets: readonly ClaimedSet[];
  readonly receipts: number;
};

/** Reads the table of contents and the statements, and lists no blobs. Takes milliseconds at any size. */
export const inspectMedium = async (open: OpenMedium): Promise<Inspection> => ({
  path: open.path,
  form: open.form,
  filled: await readContents(open),
  ...defined({ parts: open.parts ? partsSeen(open.parts) : undefined }),
  reports: await open.files(REPORTS_FOLDER),
  requests: await open.files(REQUESTS_FOLDER),
});

const partsSeen = ({ set, count, sealed, here, missing, damaged }: MediumParts): PartsSeen => ({
  set,
  count,
  sealed,
  here,
  missing,
  damaged: damaged.map(({ number, path, error }) => ({ number, path, message: error.message })),
});

const readContents = async (open: OpenMedium): Promise<Contents | undefined> => {
  const { medium, blobs } = open;
  if (!medium) return undefined;
  const { fleet, createdAt, documents, bundles, chunks, deltas = [] } = medium;
  const sizes = await sizesOf(open, medium);
  const patched = new Set(deltas.map(({ digest }) => digest));
  return {
    fleet,
    createdAt,
    ...sizes,
    chunked: chunks.length,
    patched: patched.size,
    roots: ofRole(documents, 'root').flatMap(({ version }) => version ?? []),
    releases: await readStatements(blobs, ofRole(documents, 'release')),
    leases: await readStatements(blobs, ofRole(documents, 'lease')),
    bundles: await Promise.all(
      bundles.map(async ({ environment, clusterType, kind, digest, assumed, base }) => ({
        channel: `${environment}/${clusterType}`,
        kind,
        digest,
        ...countAssumed(assumed, patched),
        base: base ?? [],
        built: await readBuilt(blobs, documents, digest),
      })),
    ),
    secrets: await readSecretSets(blobs, documents),
    sites: ofRole(documents, 'site')
      .map(({ site = '', version }) => ({ site, version }))
      .toSorted((a, b) => compareBytes(a.site, b.site)),
    receipts: ofRole(documents, 'receipt').length,
  };
};

/** A medium of an earlier version has no list of its blobs, so that the blobs are examined one by one. */
const sizesOf = async (
  { files, blobs }: OpenMedium,
  { carries, documents, chunks, deltas = [] }: Medium,
): Promise<Pick<Contents, 'blobs' | 'bytes'>> => {
  if (carries) {
    const own = new Map(documents.map(({ digest, size }) => [digest, size]));
    const patches = deltas.map(({ patch }) => patch.size);
    return { blobs: carries.blobs + own.size, bytes: sum([carries.bytes, ...own.values(), ...patches]) };
  }
  const there = [
    ...(await files('blobs')).flatMap((path) => digestOfPath(path) ?? []),
    ...chunks.map(({ digest }) => digest),
  ];
  const found: number[] = [];
  for (const digest of there) found.push((await blobs.size(digest)) ?? 0);
  const patches = new Set(deltas.map(({ patch }) => patch.digest));
  return { blobs: there.filter((digest) => !patches.has(digest)).length, bytes: sum(found) };
};

/** Blobs that a patch rebuilds are not listed as assumed: the site makes them from the patch. */
const countAssumed = (
  assumed: readonly BlobRef[],
  patched: ReadonlySet<Digest>,
): Pick<Contents['bundles'][number], 'assumedBlobs' | 'assumedBytes'> => {
  const left = assumed.filter(({ digest }) => !patched.has(digest));
  return { assumedBlobs: left.length, assumedBytes: left.reduce((total, { size }) => total + size, 0) };
};

/** One a channel: several signatures of one statement are several files. */
const readStatements = async (
  blobs: BlobSource,
  documents: readonly Document[],
): Promise<Contents['releases']> => {
  const found = new Map<string, Contents['releases'][number]>();
  for (const document of documents) {
    const channel = `${document.environment}/${document.clusterType}`;
    const { signer, ...said } = await claimsOf(blobs, document);
    const before = found.get(`${channel} ${document.version}`);
    const signers = [...(before?.signers ?? []), ...(signer === undefined ? [] : [signer])];
    found.set(`${channel} ${document.version}`, { channel, version: document.version, ...said, signers });
  }
  return [...found.values()].toSorted((a, b) => compareBytes(a.channel, b.channel));
};

type Claims = {
  readonly issuedAt: string | undefined;
  readonly expires: string | undefined;
  readonly signer: string | undefined;
};

/** Claims of a statement; undefined if it cannot be read. */
const claimsOf = async (blobs: BlobSource, { digest }: Document): Promise<Claims> => {
  try {
    const { payload, hint } = parseEnvelope(await readBlob(blobs, digest, MAX_STATEMENT_BYTES), 'statement');
    const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }) as {
      predicate?: { issuedAt?: unknown; expires?: unknown } | null;
    } | null;
    return {
      issuedAt: shortText(json?.predicate?.issuedAt),
      expires: shortText(json?.predicate?.expires),
      signer: Buffer.from(hint, 'base64').toString('hex').slice(0, 12),
    };
  } catch (error) {
    if (isFleetError(error)) return { issuedAt: undefined, expires: undefined, signer: undefined };
    throw error;
  }
};

const shortText = (value: unknown): string | undefined =>
  typeof value === 'string' ? value.slice(0, 20) : undefined;
