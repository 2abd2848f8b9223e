import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { openRegistry } from '#bundles/registry/open-registry';
import type { RegistryOptions } from '#bundles/registry/registry';
import { formatRegistryAddress, parseRegistryAddress } from '#bundles/registry/registry-address';
import { readAhead } from './read-ahead.ts';
import { keepSmallBlobs } from './small-blobs.ts';
import type { Source } from './source.ts';
import { streamBlob } from './stream-blob.ts';

/**
 * The registry that `fleet-scheduler publish` writes to. Layers go from the network to the medium; only small documents
 * stay in memory.
 * @throws FleetError USAGE for an address that is none
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
  /** Whoever asks for a tag reads what it names: that is one question. */
  const resolve = async (repository: string, tag: string): Promise<Descriptor | undefined> => {
    const found = await registry.repository(repository).fetchManifest(tag);
    if (found) small.keep(found.descriptor.digest, found.bytes);
    return found?.descriptor;
  };
  return {
    name,
    // Registries have no list that one may count on: many show none, or other people's.
    channels: async () => {
      throw new FleetError('USAGE', `a registry does not say which channels it has: ${name}`, {
        hint: 'Name them with --channel, or a site with --site',
      });
    },
    tags: (repository) => registry.repository(repository).tags(),
    // A tag that is moved meanwhile would be two answers to one question.
    resolve: (repository, tag) => {
      const key = `${repository}:${tag}`;
      const found = resolved.get(key) ?? resolve(repository, tag);
      resolved.set(key, found);
      // What could not be asked may be asked again.
      found.catch(() => resolved.delete(key));
      return found;
    },
    blobs,
    readAhead: (documents, signal) => readAhead(blobs, documents, signal),
    stream: (repository, digest, signal, buffers) => streamBlob(blobs(repository), digest, signal, buffers),
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
};
