import { type Descriptor, parseManifest } from '../../formats/layout/manifest.ts';
import { type Digest, hexOf, isDigest, shortDigest } from '../../digest.ts';
import { listPages } from './list-pages.ts';
import { fetchManifest } from './pull-manifest.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

/** Lists the referrers of a manifest by the referrers API, or by the fallback tag in a registry without it. */
export const listReferrers = async (
  repository: RepositoryClient,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly Descriptor[]> => {
  const listed = await listPages(
    { client: repository.client, scope: scopeFor(repository.path, 'pull') },
    {
      doing: `listing what refers to ${shortDigest(digest)} in ${repository.name}`,
      path: `${repository.path}/referrers/${digest}`,
      signal,
      items: ({ manifests }) => {
        // ociregistry returns null for an empty list.
        const list = manifests === null ? [] : manifests;
        if (!Array.isArray(list) || !list.every(isDescriptor)) return undefined;
        return new Map(list.map((manifest) => [manifest.digest, manifest]));
      },
    },
  );
  if (listed) return listed;
  // "Referrers Tag Schema": <algorithm>-<reference>
  const index = await fetchManifest(repository, `sha256-${hexOf(digest)}`, signal);
  if (!index) return [];
  const parsed = parseManifest(index.bytes, `the list of what refers to ${shortDigest(digest)}`);
  return 'manifests' in parsed ? parsed.manifests : [];
};

const isDescriptor = (value: unknown): value is Descriptor => {
  const it = value as Partial<Descriptor> | null;
  return isDigest(it?.digest) && Number.isSafeInteger(it?.size) && typeof it?.mediaType === 'string';
};
