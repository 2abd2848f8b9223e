import {
  childrenOf,
  type Descriptor,
  type ImageIndex,
  isManifestType,
  MAX_MANIFEST_BYTES,
  type Manifest,
} from '../../formats/layout/manifest.ts';
import { type Digest, digestOf, isDigest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { DOCKER_INDEX, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST } from '../../media-types.ts';
import { discard } from './http/exchange.ts';
import { isTag } from './references.ts';
import { readBody } from './http/read-body.ts';
import type { FetchedManifest } from './registry.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

/** Accepted media types. Without indexes a registry may choose a platform; without docker's types it may convert. */
export const ACCEPT = {
  accept: [OCI_MANIFEST, OCI_INDEX, DOCKER_MANIFEST, DOCKER_INDEX, '*/*;q=0.1'].join(', '),
};

/** OCI distribution spec 1.1, "Checking if content exists in the registry". */
export const resolveManifest = async (
  repository: RepositoryClient,
  reference: string,
  signal?: AbortSignal,
): Promise<Descriptor | undefined> => {
  const doing = `looking for ${nameOf(reference)} in ${repository.name}`;
  const found = await repository.client.ask(
    { ...asking(repository, reference, doing, signal), method: 'HEAD', accept: [200, 404, 405] },
    async (answer) => {
      await discard(answer);
      if (answer.status !== 200) return answer.status;
      const digest = answer.header('docker-content-digest') ?? reference;
      const size = answer.header('content-length') ?? '';
      // Some registries omit digest or type for HEAD; a returned digest must match the request.
      if (!isDigest(digest) || !/^[0-9]{1,15}$/.test(size)) return 405;
      if (isDigest(reference) && digest !== reference) throw otherContent(repository, reference, digest);
      return { mediaType: mediaTypeOf(answer.header('content-type')), digest, size: Number(size) };
    },
  );
  if (found === 404) return undefined;
  if (typeof found === 'number') return (await fetchManifest(repository, reference, signal))?.descriptor;
  remember(repository, found.digest);
  return found;
};

/** OCI distribution spec 1.1, "Pulling manifests". The content is verified against its digest. */
export const fetchManifest = async (
  repository: RepositoryClient,
  reference: string,
  signal?: AbortSignal,
): Promise<FetchedManifest | undefined> => {
  const doing = `reading ${nameOf(reference)} of ${repository.name}`;
  const manifest = await repository.client.ask(
    { ...asking(repository, reference, doing, signal), method: 'GET', accept: [200, 404] },
    async (answer) => {
      if (answer.status === 404) {
        await discard(answer);
        return undefined;
      }
      const bytes = await readBody(answer, MAX_MANIFEST_BYTES, `${nameOf(reference)} of ${repository.name}`);
      const digest = digestOf(bytes);
      const said = answer.header('docker-content-digest');
      for (const expected of [reference, said])
        if (isDigest(expected) && expected !== digest) throw otherContent(repository, expected, digest);
      const parsed = parsedOf(bytes);
      // The digest covers the media type in the manifest and not the one in the header.
      const mediaType = parsed?.mediaType ?? mediaTypeOf(answer.header('content-type'));
      for (const child of parsed?.children ?? []) remember(repository, child);
      return { descriptor: { mediaType, digest, size: bytes.byteLength }, bytes };
    },
  );
  if (manifest) remember(repository, manifest.descriptor.digest);
  return manifest;
};

const asking = (
  { path }: RepositoryClient,
  reference: string,
  doing: string,
  signal: AbortSignal | undefined,
) => ({
  path: `${path}/manifests/${checkReference(reference)}`,
  headers: ACCEPT,
  scope: scopeFor(path, 'pull'),
  doing,
  signal,
});

/** Accepts only tags and digests for a path. @throws FleetError NAME_INVALID */
export const checkReference = (reference: string): string => {
  if (isDigest(reference) || isTag(reference)) return reference;
  throw new FleetError(
    'NAME_INVALID',
    `${JSON.stringify(reference).slice(0, 160)} is neither a tag nor a digest`,
  );
};

/** A tag, or a shortened digest. */
export const nameOf = (reference: string): string =>
  isDigest(reference) ? shortDigest(reference) : reference;

/** Upper bound on cached manifests, far above the number in one release. */
const MAX_REMEMBERED = 100_000;

export const remember = ({ manifests }: RepositoryClient, digest: Digest): void => {
  if (manifests.size >= MAX_REMEMBERED) manifests.clear();
  manifests.add(digest);
};

const mediaTypeOf = (contentType: string | undefined): string =>
  contentType?.split(';')[0]?.trim() || 'application/octet-stream';

/** Reads only the media types of a manifest and its children; the caller checks its content. */
const parsedOf = (
  bytes: Buffer,
): { readonly mediaType: string | undefined; readonly children: readonly Digest[] } | undefined => {
  try {
    const value = JSON.parse(bytes.toString('utf8')) as Partial<Manifest & ImageIndex>;
    const children = Array.isArray(value.manifests) ? childrenOf(value as ImageIndex) : [];
    return {
      mediaType: typeof value.mediaType === 'string' ? value.mediaType : undefined,
      children: children.flatMap((child) =>
        isDigest(child?.digest) && isManifestType(child.mediaType) ? [child.digest] : [],
      ),
    };
  } catch {
    return undefined;
  }
};

const otherContent = ({ name }: RepositoryClient, expected: Digest, actual: Digest): FleetError =>
  new FleetError(
    'DIGEST_MISMATCH',
    `${name} answered with ${shortDigest(actual)} instead of ${shortDigest(expected)}`,
    { subject: expected, hint: 'The registry, or a cache before it, is damaged or was tampered with' },
  );
