import type { KubernetesApi } from './api/kubernetes-api.ts';
import type { Adopt } from './desired/adopt.ts';
import type { Reach } from './desired/check-reach.ts';
import type { Contender } from './lease/lease-options.ts';
import type { CopyPlace } from './replaced/copies.ts';

export type KubernetesTargetOptions = {
  /** Opens the API on first use, so that the agent starts while its cluster is off. */
  readonly open: () => Promise<KubernetesApi>;
  readonly fleet: string;
  /** Identity and namespace of the lease between several agents; undefined: no lease. */
  readonly lease?: Contender | undefined;
  /** Timeout for a package to become healthy, in milliseconds. */
  readonly healthTimeoutMs: number;
  /** Timeout of one step in milliseconds, such as waiting for a CRD to be established or an object to be deleted. */
  readonly stepTimeoutMs: number;
  /** Storage for copies of adopted objects, which are restored when the package is removed. */
  readonly copies: CopyPlace;
  /** Which existing objects packages may take over, where neither the release nor an annotation says it. */
  readonly adopt: Adopt;
  /** Field managers of this site's own deployment tools, whose fields are taken over with an object. None by default. */
  readonly deployers?: readonly string[];
  /** Limits of this cluster for every package; undefined: none. */
  readonly reach?: Reach | undefined;
  /** Namespace of the workspaces' accounts; undefined: everything is applied by the agent's own account. */
  readonly accounts?: string | undefined;
};
