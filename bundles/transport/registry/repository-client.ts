import type { TokenScope } from './http/authorize.ts';
import type { Client } from './http/client.ts';

/** One repository of a registry with its client and cached facts. */
export type RepositoryClient = {
  readonly client: Client;
  /** Its path in the registry: 'factory/fleet/prod/line'. */
  readonly path: string;
  /** For messages: 'registry.example:5000/factory/fleet/prod/line'. */
  readonly name: string;
  /** Digests known to be manifests, which are not requested as blobs first. */
  readonly manifests: Set<string>;
};

export const scopeFor = (path: string, actions: 'pull' | 'pull,push' | 'delete'): TokenScope => ({
  repository: path,
  scopes: [`repository:${path}:${actions}`],
});
