import { compareBytes } from '#bundles/digest';
import { defined } from '#bundles/defined';
import { isClusterScoped } from '../../model/kubernetes/kubernetes-object.ts';
import { ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES } from '../../model/bounds.ts';
import { writeObject } from '../../model/yaml/write-object.ts';
import { CONFIGURATION } from '../../views/import/plan-takeover.ts';
import type { Imported, Manifest, Note } from '../imported.ts';
import { kindOf, nameOf, namespaceOf } from '../read/manifests.ts';
import { openNotes } from '../read/notes.ts';
import { type EnvironmentOf, groupTargets, type PlannedTarget, setName, toName } from './group-targets.ts';
import { type NewFiles, placeContent } from './place-content.ts';

export type PlannedPlatform = {
  /** By path, in byte order. */
  readonly files: ReadonlyMap<string, Buffer>;
  readonly targets: readonly PlannedTarget[];
  readonly environments: readonly string[];
  readonly notes: readonly Note[];
};

export type PlatformToPlan = {
  readonly imported: Imported;
  readonly fleet: string;
  /** In the order of the chain. */
  readonly environments: readonly string[];
  readonly environmentOf: EnvironmentOf;
  /** 'Flux', for comments. */
  readonly tool: string;
};

const GROUP = 'fleet-ferry/v1alpha1';

/** Plans a platform repository that has the units of an imported repository on the same clusters. Pure: same input, same bytes. */
export const planPlatform = ({
  imported,
  fleet,
  environments,
  environmentOf,
  tool,
}: PlatformToPlan): PlannedPlatform => {
  const notes = openNotes();
  for (const { kind, at, subject, what, todo } of imported.notes)
    notes.add(kind, at, subject, { what, todo });
  const targets = groupTargets(imported, environmentOf).toSorted((a, b) => compareBytes(keyOf(a), keyOf(b)));
  const files: NewFiles = new Map();
  const put = (path: string, objects: readonly Manifest[], comment?: string): void => {
    const text = objects.map(writeObject).join('---\n');
    files.set(path, Buffer.from(`${comment === undefined ? '' : `# ${comment}\n`}${text}`));
  };
  files.set('fleet-scheduler.yaml', Buffer.from(CONFIGURATION));
  files.set('.gitignore', Buffer.from('.fleet/\n'));
  put(
    'fleet.yaml',
    [
      {
        apiVersion: GROUP,
        kind: 'Fleet',
        metadata: { name: fleet },
        spec: { environments: environments.map((name) => ({ name })) },
      },
    ],
    `Imported from a repository of ${tool}. promotedFrom chains environments.`,
  );
  for (const environment of environments) {
    const clusters = imported.clusters.filter(({ name }) => environmentOf(name) === environment);
    for (const cluster of clusters)
      put(
        `environments/${environment}/cluster-types/${toName(cluster.name)}.yaml`,
        [
          {
            apiVersion: GROUP,
            kind: 'ClusterType',
            metadata: {
              name: toName(cluster.name),
              labels: { ...cluster.labels, cluster: toName(cluster.name) },
            },
            spec: { namespaceService: 'none', configType: 'configmap', reconciler: 'fleet' },
          },
        ],
        'Namespaces come with the workloads, as before. platforms: [linux/amd64] makes releases smaller.',
      );
    const sets = new Map(
      targets
        .filter((target) => target.environment === environment)
        .map((target) => [setName(target.clusters, clusters.length), target.clusters]),
    );
    const policies = [...sets]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([name, on]) => policy(name, on));
    if (policies.length > 0) put(`environments/${environment}/policies/clusters.yaml`, policies);
    else files.set(`environments/${environment}/.gitkeep`, Buffer.from(''));
  }
  for (const [workload, group] of Map.groupBy(targets, (target) => target.workload)) {
    put(`base/workloads/${workload}.yaml`, [registration(workload, group)], group[0] && originOf(group[0]));
    const deploymentTargets = group.map((target) => {
      const of = imported.clusters.filter(({ name }) => environmentOf(name) === target.environment).length;
      noteSystem(target, notes);
      return defined({
        name: target.name,
        environment: target.environment,
        labels: { runs: setName(target.clusters, of) },
        namespace: target.unit.namespace,
        dependsOn: target.dependsOn.length > 0 ? target.dependsOn : undefined,
        manifests: placeContent(target, files, notes),
      });
    });
    put(`apps/${workload}/workload/workload.yaml`, [
      { apiVersion: GROUP, kind: 'Workload', metadata: { name: workload }, spec: { deploymentTargets } },
    ]);
  }
  return {
    files: new Map([...files].toSorted(([a], [b]) => compareBytes(a, b))),
    targets,
    environments,
    notes: notes.all(),
  };
};

const keyOf = ({ workload, environment, name }: PlannedTarget): string =>
  `${workload} ${environment} ${name}`;

const originOf = ({ unit }: PlannedTarget): string => {
  const { file, line } = unit.at;
  return `${unit.id}: ${file}${line === undefined ? '' : `:${line}`}`;
};

const policy = (name: string, clusters: readonly string[]): Manifest => ({
  apiVersion: GROUP,
  kind: 'SchedulingPolicy',
  metadata: { name },
  spec: {
    deploymentTargetSelector: { labelSelector: { matchLabels: { runs: name } } },
    clusterTypeSelector: {
      labelSelector: {
        matchExpressions: [{ key: 'cluster', operator: 'In', values: clusters.map(toName).toSorted() }],
      },
    },
  },
});

/** The registration of a workload allows exactly what its objects use. What a chart from elsewhere brings is not known. */
const registration = (workload: string, targets: readonly PlannedTarget[]): Manifest => {
  const objects = targets.flatMap(({ unit: { content } }) => content.objects ?? []);
  const isUnknown = targets.some(({ unit: { content } }) => content.objects === undefined);
  const scoped = objects.filter((one) => isClusterScoped(kindOf(one)) || isPerhapsScoped(one)).map(kindOf);
  const namespaces = [
    ...objects.flatMap((one) => namespaceOf(one) ?? []),
    ...objects.filter((one) => kindOf(one) === 'Namespace').map(nameOf),
    ...targets.map(({ unit }) => unit.namespace),
  ];
  const listed = (names: readonly string[]): string | undefined => {
    if (isUnknown) return '*';
    return names.length === 0 ? undefined : [...new Set(names)].toSorted(compareBytes).join(', ');
  };
  const workspace = targets[0]?.unit.workspace ?? '';
  return {
    apiVersion: GROUP,
    kind: 'WorkloadRegistration',
    metadata: {
      name: workload,
      annotations: defined({
        [ALLOW_CLUSTER_SCOPED]: listed(scoped),
        [ALLOW_NAMESPACES]: listed(namespaces),
      }),
    },
    spec: defined({
      workspace: workspace === '' ? undefined : toName(workspace),
      workload: { repo: '.', path: `apps/${workload}/workload` },
    }),
  };
};

/** Only a cluster knows whether a custom kind without a namespace has one. */
const isPerhapsScoped = (object: Manifest): boolean =>
  namespaceOf(object) === undefined &&
  /\./.test(String(object['apiVersion']).split('/')[0] ?? '') &&
  !/(^|\.)k8s\.io\//.test(String(object['apiVersion']));

const noteSystem = ({ unit, workload }: PlannedTarget, notes: ReturnType<typeof openNotes>): void => {
  const found = [
    unit.namespace,
    ...(unit.content.objects ?? []).flatMap((one) => namespaceOf(one) ?? []),
  ].filter((name) => name.startsWith('kube-'));
  for (const name of new Set(found))
    notes.add('told', unit.at, `workload ${workload}`, {
      what: `it has objects in ${name}, which agents refuse by default`,
      todo: `Name ${name} in systemNamespaces of agent.yaml`,
    });
};
