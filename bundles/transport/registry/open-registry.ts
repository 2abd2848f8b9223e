import { FleetError } from '../../errors.ts';
import { createClient } from './http/client.ts';
import { listReferrers } from './list-referrers.ts';
import { listRepositories } from './list-repositories.ts';
import { listTags } from './list-tags.ts';
import { fetchManifest, resolveManifest } from './pull-manifest.ts';
import { pushBlob } from './push-blob.ts';
import { pushManifest } from './push-manifest.ts';
import type { Registry, RegistryAddress, RegistryOptions, Repository } from './registry.ts';
import { isRepositoryName } from './registry-address.ts';
import { removeTag } from './remove-tag.ts';
import { repositoryBlobs } from './repository-blobs.ts';
import type { RepositoryClient } from './repository-client.ts';

/**
 * Opens a registry with one connection pool and one token cache. Sends nothing before the first request; disposing aborts requests.
 * @throws FleetError CONFIG_INVALID for a CA file or proxy that cannot be used
 */
export const openRegistry = (address: RegistryAddress, options: RegistryOptions): Registry => {
  const client = createClient(address.host, options);
  const known = new Map<string, Repository>();

  const pathOf = (below: string): string => {
    const path = [address.prefix, below].filter(Boolean).join('/');
    if (isRepositoryName(path)) return path;
    throw new FleetError(
      'NAME_INVALID',
      `${JSON.stringify(path).slice(0, 160)} is not the name of a repository`,
      {
        hint: 'Use lower case, digits and single . _ - between them, parts joined by /',
      },
    );
  };

  const open = (path: string): Repository => {
    const repository: RepositoryClient = {
      client,
      path,
      name: `${address.host}/${path}`,
      manifests: new Set(),
    };
    return {
      name: repository.name,
      blobs: repositoryBlobs(repository),
      resolve: (reference, signal) => resolveManifest(repository, reference, signal),
      fetchManifest: (reference, signal) => fetchManifest(repository, reference, signal),
      tags: (signal) => listTags(repository, signal),
      referrers: (digest, signal) => listReferrers(repository, digest, signal),
      pushBlob: (blob, content, { mountFrom, signal } = {}) =>
        pushBlob(repository, blob, content, {
          mountFrom: mountFrom === undefined ? undefined : pathOf(mountFrom),
          signal,
        }),
      pushManifest: (reference, manifest, signal) => pushManifest(repository, reference, manifest, signal),
      removeTag: (tag, signal) => removeTag(repository, tag, signal),
    };
  };

  return {
    address,
    repository: (below) => {
      const path = pathOf(below);
      const repository = known.get(path) ?? open(path);
      known.set(path, repository);
      return repository;
    },
    repositories: async (signal) => {
      const below = address.prefix && `${address.prefix}/`;
      const all = await listRepositories(client, signal);
      return all?.flatMap((path) => (path.startsWith(below) ? [path.slice(below.length)] : []));
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
};
