import type { Wish } from './http/authorize.ts';
import type { Client } from './http/client.ts';

/** One repository of a registry, and what there is to know about it while talking to it. */
export type RepositoryClient = {
  readonly client: Client;
  /** As it stands in the registry's paths: 'factory/fleet/prod/line'. */
  readonly path: string;
  /** For messages: 'registry.example:5000/factory/fleet/prod/line'. */
  readonly name: string;
  /** Digests seen as manifests, so that nobody looks for them among the blobs first. */
  readonly manifests: Set<string>;
};

export const wishTo = (path: string, actions: 'pull' | 'pull,push' | 'delete'): Wish => ({
  repository: path,
  scopes: [`repository:${path}:${actions}`],
});
