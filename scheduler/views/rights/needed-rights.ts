import { compareBytes } from '#bundles/digest';
import { OBJECT_VERBS, WEBHOOK_READS, WORKLOAD_READS } from '#bundles/formats/bounds/object-verbs';
import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { expandList } from '#bundles/formats/bundle/expand-list';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import { isRecord } from '#bundles/is-record';
import { isClusterScoped } from '../../model/kubernetes/kubernetes-object.ts';

/** Verbs on one resource that an account needs for the packages of a channel. */
export type NeededRight = {
  /** Workspace whose account needs it; '': the agent's own. */
  readonly workspace: string;
  /** undefined: of the whole cluster. */
  readonly namespace: string | undefined;
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  /** Names of the objects; absent: any. */
  readonly names?: readonly string[];
};

type Package = {
  readonly assignment: Pick<BundleAssignment, 'id' | 'workspace' | 'namespace' | 'bounds'>;
  readonly files: ReadonlyMap<string, Buffer>;
};

type Fields = { readonly [field: string]: unknown };
type Found = {
  readonly workspace: string;
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  readonly isClusterWide: boolean;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly fields: Fields;
};

/**
 * The least rights with which the agent can install, compare, correct, update and remove the packages.
 * @param byAccounts true if the agent applies the manifests of a workspace by the account of the workspace
 * @returns sorted by account, namespace, group and resource
 */
export const neededRights = (packages: readonly Package[], byAccounts: boolean): readonly NeededRight[] => {
  const documents = packages.flatMap(({ assignment, files }) =>
    parseManifests(files).flatMap(({ file, value }) =>
      expandList(value).map((fields) => ({ assignment, file, fields })),
    ),
  );
  const kinds = customKinds(documents.map(({ fields }) => fields));
  const found = documents.flatMap(({ assignment, file, fields }): readonly Found[] => {
    const { apiVersion, kind } = fields;
    const metadata = isRecord(fields['metadata']) ? fields['metadata'] : {};
    if (typeof apiVersion !== 'string' || typeof kind !== 'string') return [];
    const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
    const custom = kinds.get(`${group}/${kind}`);
    const isClusterWide = custom ? custom.isClusterWide : isClusterScoped(kind);
    const own = textOf(metadata['namespace']) ?? assignment.namespace;
    const isTenants = byAccounts && assignment.bounds !== undefined && file.startsWith('manifests/');
    return [
      {
        workspace: isTenants ? (assignment.workspace ?? '') : '',
        group,
        kind,
        resource: custom?.plural ?? pluralOf(kind),
        isClusterWide,
        namespace: isClusterWide ? undefined : own,
        name: textOf(metadata['name']) ?? '',
        fields,
      },
    ];
  });
  return merged(found.flatMap(rightsOf));
};

type CustomKind = { readonly plural: string; readonly isClusterWide: boolean };

/** Kinds that definitions of the packages bring, by 'group/Kind'. */
const customKinds = (objects: readonly Fields[]): ReadonlyMap<string, CustomKind> =>
  new Map(
    objects.flatMap(({ kind, spec }) => {
      if (!isDefinition(kind) || !isRecord(spec) || !isRecord(spec['names'])) return [];
      const { group, scope, names } = spec;
      const isClusterWide = scope === 'Cluster';
      return [
        [`${String(group)}/${String(names['kind'])}`, { plural: String(names['plural']), isClusterWide }],
      ];
    }),
  );

/** As Kubernetes derives a resource from a kind (apimachinery, UnsafeGuessKindToResource). */
const pluralOf = (kind: string): string => {
  const word = kind.toLowerCase();
  if (word.endsWith('endpoints')) return word;
  if (word.endsWith('s')) return `${word}es`;
  return word.endsWith('y') ? `${word.slice(0, -1)}ies` : `${word}s`;
};

export const RBAC = 'rbac.authorization.k8s.io';
const ANY_NAME: ReadonlySet<string> = new Set(['create', 'list', 'watch']);

const rightsOf = (object: Found): readonly NeededRight[] => {
  const { workspace, namespace, group, kind, resource, isClusterWide, name } = object;
  const place = { workspace, namespace, group, resource };
  const own = isClusterWide
    ? [
        { ...place, verbs: OBJECT_VERBS.filter((verb) => ANY_NAME.has(verb)) },
        { ...place, verbs: OBJECT_VERBS.filter((verb) => !ANY_NAME.has(verb)), names: [name] },
      ]
    : [{ ...place, verbs: OBJECT_VERBS }];
  return [
    ...own,
    ...grantsOf(object),
    ...(isDefinition(kind) ? ofDefinition(object) : []),
    ...readsOf(object),
    ...webhookReads(object),
  ];
};

/** The API server lets an account grant rights that it lacks only with the verbs `escalate` on the role, and `bind` on the role of a binding. */
const grantsOf = ({
  workspace,
  namespace,
  group,
  kind,
  resource,
  name,
  fields,
}: Found): readonly NeededRight[] => {
  if (group !== RBAC) return [];
  if (!kind.endsWith('Binding'))
    return [{ workspace, namespace, group, resource, verbs: ['escalate'], names: [name] }];
  const roleRef = isRecord(fields['roleRef']) ? fields['roleRef'] : {};
  return [
    {
      workspace,
      namespace,
      group,
      resource: pluralOf(textOf(roleRef['kind']) ?? ''),
      verbs: ['bind'],
      names: [textOf(roleRef['name']) ?? ''],
    },
  ];
};

const isDefinition = (kind: unknown): boolean => kind === 'CustomResourceDefinition';

/** The agent lists the objects of a definition's kind before it deletes the definition, and patches its storedVersions when a rollback drops versions. */
const ofDefinition = ({ workspace, group, name, fields }: Found): readonly NeededRight[] => {
  const spec = isRecord(fields['spec']) ? fields['spec'] : {};
  const names = isRecord(spec['names']) ? spec['names'] : {};
  const everywhere = { workspace, namespace: undefined };
  return [
    { ...everywhere, group: String(spec['group']), resource: String(names['plural']), verbs: ['list'] },
    { ...everywhere, group, resource: 'customresourcedefinitions/status', verbs: ['patch'], names: [name] },
  ];
};

const WORKLOADS: ReadonlySet<string> = new Set(['apps', 'batch']);

const readsOf = ({ workspace, namespace, group, fields }: Found): readonly NeededRight[] => {
  const isWorkload =
    WORKLOADS.has(group) || (isRecord(fields['spec']) && isRecord(fields['spec']['template']));
  if (!isWorkload || namespace === undefined) return [];
  return WORKLOAD_READS.map((one) => ({ workspace, namespace, ...one, verbs: READS }));
};

const READS = ['get', 'list', 'watch'];

/** The Services that webhooks of admission call may lie in any namespace. */
const webhookReads = ({ workspace, kind, fields }: Found): readonly NeededRight[] => {
  if (!kind.endsWith('WebhookConfiguration') || !Array.isArray(fields['webhooks'])) return [];
  return fields['webhooks'].filter(isRecord).flatMap(({ clientConfig }) => {
    const service =
      isRecord(clientConfig) && isRecord(clientConfig['service']) ? clientConfig['service'] : {};
    const namespace = textOf(service['namespace']);
    return namespace === undefined ? [] : [{ workspace, namespace, ...WEBHOOK_READS, verbs: READS }];
  });
};

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

const keyOf = ({ workspace, namespace = '', group, resource, verbs, names }: NeededRight): string =>
  JSON.stringify([workspace, namespace, group, resource, verbs, names === undefined]);

const merged = (rights: readonly NeededRight[]): readonly NeededRight[] =>
  [...Map.groupBy(rights, keyOf)]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .flatMap(([, same]) => {
      const [first] = same;
      if (!first) return [];
      const names = [...new Set(same.flatMap((one) => one.names ?? []))].toSorted(compareBytes);
      return [first.names === undefined ? first : { ...first, names }];
    });
