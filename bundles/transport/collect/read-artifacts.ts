import { type Digest, digestFromHex } from '../../digest.ts';
import { toFleetError } from '../../errors.ts';
import { inParallel } from '../../in-parallel.ts';
import { readArtifact } from '../../formats/layout/artifact.ts';
import type { Document } from '../../formats/layout/document.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readVersion, readSignedRelease } from '../publish/read-version.ts';
import type { PointerVersion, PointerTag } from '../publish/upload-batch.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { underNewestRoot } from '../publish/under-newest-root.ts';

/** An audit log, or a release, lease, site or receipts artifact of a repository. */
export type Artifact = {
  readonly digest: Digest;
  readonly tag: PointerTag;
  readonly version: PointerVersion;
  /** Of a release: the statement before, by its payload. */
  readonly previous: Digest | null;
  /** Of a release: the bundles it names. */
  readonly bundles: readonly Digest[];
};

const WIDTH = 8;

/**
 * Reads artifacts, verified under any root of the fleet. Artifacts that verify under no root or are incomplete are left out: no
 * site accepts them, so nothing is kept for them.
 * @throws FleetError REGISTRY_*, ABORTED
 */
export const readArtifacts = async (
  repository: string,
  blobs: BlobSource,
  digests: readonly Digest[],
  chain: readonly TrustRoot[],
  signal: AbortSignal,
): Promise<readonly Artifact[]> => {
  const read = await inParallel(digests, WIDTH, async (digest) => {
    signal.throwIfAborted();
    try {
      return await readOne(repository, blobs, digest, chain);
    } catch (error) {
      const known = toFleetError(error, `reading ${digest}`);
      if (known.retryable || ['REGISTRY_DENIED', 'INTERNAL', 'ABORTED'].includes(known.code)) throw known;
      return undefined;
    }
  });
  return read.filter((artifact) => artifact !== undefined);
};

/** @throws FleetError as readVersion under the newest root, if the artifact verifies under no root */
export const readOne = async (
  repository: string,
  blobs: BlobSource,
  digest: Digest,
  chain: readonly TrustRoot[],
): Promise<Artifact> => {
  const documents = await readArtifact(blobs, { digest }, { what: `${repository}@${digest}` });
  const tag = tagOf(documents);
  const { value } = await underNewestRoot(chain, async (root): Promise<Artifact> => {
    const version = await readVersion({ repository, tag }, blobs, documents, root);
    if (tag !== 'release') return { digest, tag, version, previous: null, bundles: [] };
    const { predicate, statement } = await readSignedRelease(repository, blobs, documents, root);
    const bundles = statement.subjects.filter(({ name }) => name.startsWith('bundle/'));
    return {
      digest,
      tag,
      version,
      previous: predicate.previous,
      bundles: bundles.map((subject) => subject.digest),
    };
  });
  return value;
};

const TAG_OF_ROLE: readonly (readonly [role: string, tag: PointerTag])[] = [
  ['audit', 'log'],
  ['release', 'release'],
  ['lease', 'lease'],
  ['site', 'site'],
];

const tagOf = (documents: readonly Document[]): PointerTag =>
  TAG_OF_ROLE.find(([role]) => documents.some((document) => document.role === role))?.[1] ?? 'receipts';

/** The digest that an immutable tag is made of: 'r-<64 hex>'. */
export const digestInTag = (tag: string, kind: 'r' | 'b' | 'i' | 's'): Digest | undefined => {
  const [, letter, hex] = /^([rbis])-([0-9a-f]{64})$/.exec(tag) ?? [];
  return letter === kind ? digestFromHex(hex) : undefined;
};
