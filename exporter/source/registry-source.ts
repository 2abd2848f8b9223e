import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { formatRegistryAddress, parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { readAhead } from './read-ahead.ts';
import { keepSmallBlobs } from './small-blobs.ts';
import type { Source } from './source.ts';
import { streamBlob } from './stream-blob.ts';

/**
 * The registry that `fleet-scheduler publish` writes to. Layers go from the network to the medium; only small documents
 * stay in memory.
 * @throws FleetError USAGE for an invalid address
 */
export const openRegistrySource = (where: string, options: RegistryOptions): Source => {
  const address = parseRegistryAddress(where);
  const registry = openRegistry(address, options);
  const name = formatRegistryAddress(address);
  const small = keepSmallBlobs();
  const known = new Map<string, BlobSource>();
  const blobs = (repository: string): BlobSource => {
    const opened = known.get(repository) ?? small.over(registry.repository(repository).blobs);
    known.set(repository, opened);
    return opened;
  };
  const resolved = new Map<string, Promise<Descriptor | undefined>>();
  /** A tag is asked for together with the manifest that it names, in one request. */
  const resolve = async (repository: string, tag: string): Promise<Descriptor | undefined> => {
    const found = await registry.repository(repository).fetchManifest(tag);
    if (found) small.keep(found.descriptor.digest, found.bytes);
    return found?.descriptor;
  };
  return {
    name,
    // The catalogue API of registries is not reliable: many do not have it, or list repositories of other users.
    channels: async () => {
      throw new FleetError('USAGE', `a registry does not say which channels it has: ${name}`, {
        hint: 'Name them with --channel, or a site with --site',
      });
    },
    tags: (repository) => registry.repository(repository).tags(),
    // Each tag is resolved once, so that a tag that moves meanwhile has one target for the whole run.
    resolve: (repository, tag) => {
      const key = `${repository}:${tag}`;
      const found = resolved.get(key) ?? resolve(repository, tag);
      resolved.set(key, found);
      // A failed request may be repeated.
      found.catch(() => resolved.delete(key));
      return found;
    },
    blobs,
    readAhead: (documents, signal) => readAhead(blobs, documents, signal),
    stream: (repository, digest, signal) => streamBlob(blobs(repository), digest, signal),
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
};
