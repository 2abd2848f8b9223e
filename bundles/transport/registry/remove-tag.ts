import { encodeManifest } from '../../formats/layout/manifest.ts';
import { digestOf } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import { OCI_EMPTY, OCI_MANIFEST } from '../../media-types.ts';
import { discard } from './http/exchange.ts';
import { isTag } from './references.ts';
import { resolveManifest } from './pull-manifest.ts';
import { pushBlob } from './push-blob.ts';
import { pushManifest } from './push-manifest.ts';
import { type RepositoryClient, scopeFor } from './repository-client.ts';

/**
 * OCI distribution spec 1.1, "Deleting tags". A missing tag is success. Older registries delete only manifests, together
 * with all their tags: there the tag is first moved to a separate manifest, which is then deleted.
 */
export const removeTag = async (
  repository: RepositoryClient,
  tag: string,
  signal?: AbortSignal,
): Promise<void> => {
  // Deleting by digest would remove the manifest with all its other tags.
  if (!isTag(tag))
    throw new FleetError(
      'REGISTRY_REFUSED',
      `${JSON.stringify(tag).slice(0, 80)} is not a tag of ${repository.name}`,
    );
  try {
    await remove(repository, tag, tag, signal);
  } catch (error) {
    if (!isFleetError(error, 'REGISTRY_REFUSED')) throw error;
    const stand = standInFor(tag);
    // Checks that the registry deletes manifests before it moves the tag: otherwise the tag would remain with a wrong target.
    await remove(repository, tag, stand.descriptor.digest, signal);
    if (!(await resolveManifest(repository, tag, signal))) return;
    await pushBlob(repository, stand.config, async () => once(EMPTY), { signal });
    await pushManifest(repository, tag, { mediaType: OCI_MANIFEST, bytes: stand.bytes }, signal);
    await remove(repository, tag, stand.descriptor.digest, signal);
  }
};

const remove = (
  { client, path, name }: RepositoryClient,
  tag: string,
  reference: string,
  signal?: AbortSignal,
): Promise<unknown> =>
  client.ask(
    {
      doing: `removing the tag ${tag} of ${name}`,
      method: 'DELETE',
      path: `${path}/manifests/${reference}`,
      accept: [200, 202, 204, 404],
      scope: scopeFor(path, 'delete'),
      signal,
    },
    discard,
  );

const EMPTY = Buffer.from('{}');

/** A manifest that only this tag can have, because its content includes the tag's name. */
const standInFor = (tag: string) => {
  const config = { mediaType: OCI_EMPTY, digest: digestOf(EMPTY), size: EMPTY.byteLength };
  const annotations = { 'fleet-ferry.removed': tag };
  const mediaType = OCI_MANIFEST;
  return {
    config,
    ...encodeManifest({ schemaVersion: 2, mediaType, config, layers: [config], annotations }),
  };
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
