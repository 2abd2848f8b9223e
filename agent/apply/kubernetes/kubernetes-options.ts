import type { KubernetesApi } from './api/kubernetes-api.ts';
import type { Contender } from './lease/lease-options.ts';
import type { CopyPlace } from './replaced/copies.ts';

export type KubernetesTargetOptions = {
  /** Opened at the first need: a host agent whose cluster is off must start all the same. */
  readonly open: () => Promise<KubernetesApi>;
  readonly fleet: string;
  /** Who we are beside other agents of the fleet, and the namespace where that is agreed on; undefined: there are none. */
  readonly lease?: Contender | undefined;
  /** How long a package may take to become healthy. */
  readonly healthTimeoutMs: number;
  /** How long one step waits for what it needs: a CRD to be established, an object to be gone. */
  readonly stepTimeoutMs: number;
  /** Where objects that are taken over are kept, to be put back when the package goes. */
  readonly copies: CopyPlace;
  /** May objects that were there before and belong to nobody be taken over? */
  readonly adopt: 'ifUnowned' | 'none';
};
