import { compareBytes, type Digest, isDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Document } from '#bundles/formats/layout/document';
import { readBlob } from '#bundles/formats/layout/verified';
import { SECRETS_SUBJECT } from '#bundles/trust/secrets/secret-set';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';

/** A secret set as a site's statement and the table of contents claim it, unverified: the set stays sealed. */
export type ClaimedSet = {
  readonly site: string;
  /** undefined: a sealed file that no statement here names. */
  readonly name: string | undefined;
  readonly digest: Digest;
  /** Of the sealed file; undefined: it is not on the medium. */
  readonly bytes: number | undefined;
};

const NAME = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Sorted by site and name. Statements that cannot be read name nothing. */
export const readSecretSets = async (
  blobs: BlobSource,
  documents: readonly Document[],
): Promise<readonly ClaimedSet[]> => {
  const named = await Promise.all(
    documents.filter(({ role }) => role === 'site').map((document) => setsNamed(blobs, document)),
  );
  const sealed = documents.filter(({ role }) => role === 'secrets');
  // Several signatures of one statement are several files.
  const sets = new Map(named.flat().map((set) => [`${set.site} ${set.name} ${set.digest}`, set]));
  const known = new Set([...sets.values()].map(({ digest }) => digest));
  const nameless = sealed.flatMap(({ digest, site = '' }) =>
    known.has(digest) ? [] : [{ site, name: undefined, digest }],
  );
  // Sets that the table of contents does not list are not available to the site either.
  const listed = new Set(sealed.map(({ digest }) => digest));
  const sizeOf = async (digest: Digest) => (listed.has(digest) ? blobs.size(digest) : undefined);
  const found = await Promise.all(
    [...sets.values(), ...nameless].map(async (set) => ({ ...set, bytes: await sizeOf(set.digest) })),
  );
  return found.toSorted((a, b) => compareBytes(`${a.site} ${a.name ?? '~'}`, `${b.site} ${b.name ?? '~'}`));
};

type Named = Pick<ClaimedSet, 'site' | 'digest'> & { readonly name: string };

const setsNamed = async (blobs: BlobSource, { digest, site = '' }: Document): Promise<readonly Named[]> => {
  try {
    const { payload } = parseEnvelope(await readBlob(blobs, digest, MAX_STATEMENT_BYTES), 'statement');
    const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }) as { subject?: unknown } | null;
    return Array.isArray(json?.subject) ? json.subject.flatMap((subject) => toNamed(subject, site)) : [];
  } catch (error) {
    if (isFleetError(error)) return [];
    throw error;
  }
};

const toNamed = (subject: unknown, site: string): readonly Named[] => {
  const { name, digest } = (subject ?? {}) as { name?: unknown; digest?: { sha256?: unknown } | null };
  const of = `sha256:${String(digest?.sha256)}`;
  if (typeof name !== 'string' || !name.startsWith(SECRETS_SUBJECT) || !isDigest(of)) return [];
  const set = name.slice(SECRETS_SUBJECT.length);
  return NAME.test(set) ? [{ site, name: set, digest: of }] : [];
};
