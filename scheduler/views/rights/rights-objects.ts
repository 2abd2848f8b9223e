import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { type NeededRight, RBAC } from './needed-rights.ts';

export type RightsPlace = {
  /** Namespace and name of the agent's own service account. */
  readonly agent: { readonly namespace: string; readonly name: string };
  /** Namespace of the workspaces' accounts; undefined: the agent has all rights itself. */
  readonly accounts: string | undefined;
};

export type RightsObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: object };
  readonly rules?: readonly Rule[];
  readonly [field: string]: unknown;
};

export type Rule = {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
};

/**
 * Selects roles and bindings for `kubectl apply --prune`. Namespaces do not have it: kubectl prunes them unless it is given a list of kinds, and
 * everything in a namespace goes with it.
 */
const LABELS = { 'app.kubernetes.io/part-of': 'fleet-ferry-rights' };

/** The namespaces, accounts, roles and bindings that give the rights, in the order in which a server takes them. */
export const rightsObjects = (
  rights: readonly NeededRight[],
  { agent, accounts }: RightsPlace,
): readonly RightsObject[] => {
  const workspaces = sorted(rights.map(({ workspace }) => workspace).filter((name) => name !== ''));
  const places = [
    ...Map.groupBy(rights, ({ workspace, namespace = '' }) => JSON.stringify([namespace, workspace])),
  ]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, some]) => some);
  const namespaces = sorted([
    ...(workspaces.length > 0 && accounts !== undefined ? [accounts] : []),
    ...rights.flatMap(({ namespace }) => namespace ?? []),
  ]);
  return [
    ...namespaces.map((name) => object('v1', 'Namespace', name, undefined)),
    ...workspaces.map((name) => object('v1', 'ServiceAccount', name, accounts)),
    ...(workspaces.length > 0 && accounts !== undefined
      ? roleFor({ namespace: accounts, name: 'fleet-agent-impersonate' }, [impersonate(workspaces)], agent)
      : []),
    ...places.flatMap((some) => {
      const [{ workspace, namespace } = { workspace: '', namespace: undefined }] = some;
      const account = workspace === '' ? agent : { namespace: accounts ?? '', name: workspace };
      const name = workspace === '' ? 'fleet-agent' : `fleet-agent-workspace-${workspace}`;
      return roleFor({ namespace, name }, some.map(toRule), account);
    }),
  ];
};

const sorted = (names: readonly string[]): readonly string[] => [...new Set(names)].toSorted(compareBytes);

const object = (
  apiVersion: string,
  kind: string,
  name: string,
  namespace: string | undefined,
  more: object = {},
): RightsObject => ({
  apiVersion,
  kind,
  metadata: defined({ name, namespace, labels: apiVersion === 'v1' ? undefined : LABELS }),
  ...more,
});

const impersonate = (workspaces: readonly string[]): Rule => ({
  apiGroups: [''],
  resources: ['serviceaccounts'],
  verbs: ['impersonate'],
  resourceNames: workspaces,
});

const toRule = ({ group, resource, verbs, names }: NeededRight): Rule =>
  defined({
    apiGroups: [group],
    resources: [resource],
    verbs,
    resourceNames: names,
  });

const roleFor = (
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string },
  rules: readonly Rule[],
  account: RightsPlace['agent'],
): readonly RightsObject[] => {
  const kind = namespace === undefined ? 'ClusterRole' : 'Role';
  return [
    object(`${RBAC}/v1`, kind, name, namespace, { rules }),
    object(`${RBAC}/v1`, `${kind}Binding`, name, namespace, {
      roleRef: { apiGroup: RBAC, kind, name },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    }),
  ];
};
