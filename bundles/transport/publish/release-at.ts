import type { Digest } from '../../digest.ts';
import { parseArtifact } from '../../formats/layout/artifact.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { entriesOf, referenceOf } from '../../formats/layout/layout.ts';
import { MAX_MANIFEST_BYTES } from '../../formats/layout/manifest.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '../../formats/statements/envelope.ts';
import type { ReleasePredicate } from '../../formats/statements/predicates.ts';
import { digestOf } from '../../digest.ts';
import { parseStatement } from '../../trust/statements/verify-statement.ts';
import type { Offering } from './offering.ts';

type Link = { readonly version: number; readonly previous: Digest | null };

/**
 * The release with this number that comes before the newest one of a channel, in the layout that made both. Each names the digest of the
 * one before, so only the newest has to be verified.
 * @param newest verified
 * @returns the digest of its statement; undefined if the newest does not follow on a release with this number, or its statement is lost
 */
export const releaseAt = async (
  { manifests, blobs }: Offering,
  repository: string,
  newest: Link,
  number: number,
): Promise<Digest | undefined> => {
  const links = new Map<Digest, Link>();
  for (const entry of entriesOf({ manifests }, repository)) {
    if (!referenceOf(entry)?.startsWith(`${repository}:r-`)) continue;
    for (const [digest, link] of await readLinks(blobs, entry.digest)) links.set(digest, link);
  }
  let { previous } = newest;
  // Each step goes to a lower number, so that the walk ends.
  for (let at = newest.version; previous !== null; ) {
    const link = links.get(previous);
    if (!link || link.version >= at || link.version < number) return undefined;
    if (link.version === number) return previous;
    at = link.version;
    previous = link.previous;
  }
  return undefined;
};

const readLinks = async (
  blobs: BlobSource,
  artifact: Digest,
): Promise<readonly (readonly [Digest, Link])[]> => {
  const what = `${blobs.name}: a release`;
  const documents = parseArtifact(await readBlob(blobs, artifact, MAX_MANIFEST_BYTES), { what });
  return Promise.all(
    documents
      .filter(({ role }) => role === 'release')
      .map(async ({ digest }) => {
        const { payload } = parseEnvelope(await readBlob(blobs, digest, MAX_STATEMENT_BYTES), what);
        const { version, previous } = parseStatement(payload, what).predicate as ReleasePredicate;
        return [digestOf(payload), { version, previous }] as const;
      }),
  );
};
