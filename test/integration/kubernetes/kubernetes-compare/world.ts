import type { KubernetesApi } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import type { KubernetesTargetOptions } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import type { Drift } from '../../../../agent/model/target.ts';
import type { KubernetesSite } from '../../../agent/apply/kubernetes/kubernetes-site.ts';

/** What the tests that compare, remove and own have of their cluster. */
export type CompareWorld = {
  /** @param through what the agent asks of the API server goes through */
  readonly newSite: (
    through?: (api: KubernetesApi) => KubernetesApi,
    options?: Partial<KubernetesTargetOptions>,
  ) => Promise<KubernetesSite>;
  /** A request that has to succeed; a PATCH is a merge patch. */
  readonly ask: (method: string, path: string, body?: object) => Promise<unknown>;
  /** The value at a path of a live object: 'spec.strategy.type'; undefined if there is no object. */
  readonly at: (url: string, path: string) => Promise<unknown>;
  readonly newNamespace: () => Promise<string>;
  readonly kubectl: (args: readonly string[], input?: string) => Promise<string>;
  /** The agent looks for unknown kinds again, which it does once a second at most. */
  readonly forgetKinds: () => void;
  readonly driftOf: (site: KubernetesSite) => Promise<readonly Drift[]>;
  /** Releases one package of the objects, which must not fail. */
  readonly right: (site: KubernetesSite, ...objects: readonly object[]) => Promise<void>;
  /** How many writes the API server has seen. */
  readonly writes: () => Promise<number>;
};

export const webOf = (ns: string): string => `/apis/apps/v1/namespaces/${ns}/deployments/web`;
export const mapOf = (ns: string, name: string): string => `/api/v1/namespaces/${ns}/configmaps/${name}`;
