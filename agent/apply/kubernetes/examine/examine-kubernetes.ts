import { defined } from '#bundles/defined';
import { FleetError, toFleetError } from '#bundles/errors';
import { OBJECT_VERBS } from '#bundles/formats/bounds/object-verbs';
import type { Examined } from '../../../model/target.ts';
import type { KubernetesApi } from '../api/kubernetes-api.ts';
import { ALL_RIGHTS, formatRights, lackingRights, type Right } from './account-rights.ts';

type Api = Pick<KubernetesApi, 'server' | 'version' | 'create'>;

/** Short retry budget, in milliseconds, because a person waits at a terminal. */
const RETRY_BUDGET_MS = 10_000;

/** Common kinds of packages. Permissions for custom kinds are checked when a package is refused (check-rights.ts). */
const COMMON: readonly (readonly [group: string, resource: string])[] = [
  ['', 'namespaces'],
  ['', 'configmaps'],
  ['', 'secrets'],
  ['', 'services'],
  ['', 'serviceaccounts'],
  ['', 'persistentvolumeclaims'],
  ['apps', 'deployments'],
  ['apps', 'statefulsets'],
  ['apps', 'daemonsets'],
  ['batch', 'jobs'],
  ['batch', 'cronjobs'],
  ['networking.k8s.io', 'ingresses'],
  ['networking.k8s.io', 'networkpolicies'],
  ['policy', 'poddisruptionbudgets'],
  ['rbac.authorization.k8s.io', 'roles'],
  ['rbac.authorization.k8s.io', 'rolebindings'],
  ['apiextensions.k8s.io', 'customresourcedefinitions'],
];

/**
 * Examines the cluster for `doctor`: reachability, version, and permissions of the agent's account. Changes nothing.
 * @param leases the namespace of the agent's lease; undefined if it uses none
 */
export const examineKubernetes = async (
  open: () => Promise<Api>,
  leases: string | undefined,
  signal: AbortSignal,
): Promise<readonly Examined[]> => {
  const limit = AbortSignal.timeout(RETRY_BUDGET_MS);
  const within = AbortSignal.any([signal, limit]);
  let server = 'the API server';
  const found: Examined[] = [];
  try {
    const api = await open();
    server = api.server;
    const version = await api.version(within);
    found.push({ name: 'cluster', verdict: 'good', message: `${server} answers, Kubernetes ${version}` });
    found.push(await rights(api, leases, within));
  } catch (error) {
    const { code, message, hint } = limit.aborted ? late(server) : toFleetError(error);
    const said = `${code}: ${message}${hint === undefined ? '' : ` (${hint})`}`;
    found.push({ name: found.length === 0 ? 'cluster' : 'rights', verdict: 'bad', message: said });
  }
  return found;
};

const late = (server: string): FleetError =>
  new FleetError('API_UNREACHABLE', `${server} does not answer within ${RETRY_BUDGET_MS / 1000} s`, {
    hint: 'See whether it runs, and whether the kubeconfig names it',
  });

const rights = async (api: Api, namespace: string | undefined, signal: AbortSignal): Promise<Examined> => {
  const name = 'rights';
  if ((await lackingRights(api, [ALL_RIGHTS], signal)).length === 0)
    return { name, verdict: 'good', message: "the agent's account may do everything" };
  const lease = ['get', 'create', 'update'].map((verb): Right => {
    return defined({
      verb,
      group: 'coordination.k8s.io',
      resource: 'leases',
      namespace,
    });
  });
  const lacking = await lackingRights(api, namespace === undefined ? [] : lease, signal);
  if (lacking.length > 0) {
    const message = `the agent's account may not ${formatRights(lacking)}, so nothing can be applied: give it a role`;
    return { name, verdict: 'bad', message };
  }
  const common = COMMON.flatMap(([group, resource]) =>
    OBJECT_VERBS.map((verb): Right => ({ verb, group, resource })),
  );
  const missing = await lackingRights(api, common, signal);
  if (missing.length === 0)
    return {
      name,
      verdict: 'good',
      message: "the agent's account may do what most packages need, not everything",
    };
  const message = `the agent's account may not ${formatRights(missing)} everywhere: packages that need it fail with API_DENIED`;
  return { name, verdict: 'warning', message };
};
