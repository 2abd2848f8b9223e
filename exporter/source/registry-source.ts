import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { openRegistry } from '#bundles/registry/open-registry';
import type { RegistryOptions } from '#bundles/registry/registry';
import { formatRegistryAddress, parseRegistryAddress } from '#bundles/registry/registry-address';
import { keepSmallBlobs } from './small-blobs.ts';
import type { Source } from './source.ts';

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
  return {
    name,
    // Registries have no list that one may count on: many show none, or other people's.
    channels: async () => {
      throw new FleetError('USAGE', `a registry does not say which channels it has: ${name}`, {
        hint: 'Name them with --channel, or a site with --site',
      });
    },
    tags: (repository) => registry.repository(repository).tags(),
    resolve: (repository, tag) => registry.repository(repository).resolve(tag),
    blobs,
    stream: (repository, digest, signal) => streamBlob(blobs(repository), digest, signal),
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
};

async function* streamBlob(
  blobs: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* await blobs.open(digest, signal);
}
