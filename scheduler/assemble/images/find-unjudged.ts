import { isMap, isScalar, type YAMLMap } from 'yaml';
import { FleetError } from '#bundles/errors';
import type { KubernetesObject } from '../../model/kubernetes/kubernetes-object.ts';
import {
  type FoundNode,
  type JsonPath,
  parseJsonPath,
  resolveAlias,
  selectNodes,
} from '../../model/json-path.ts';
import { placeOf } from '../../model/yaml/parse-documents.ts';

/** Fields by which a controller of the cluster fetches objects or values that the build never sees. */
type Fetching = {
  readonly group: string;
  readonly kinds: readonly string[];
  /** A chart or other source of objects. */
  readonly objects: readonly string[];
  /** References to values. */
  readonly values: readonly string[];
};

const FETCHING: readonly Fetching[] = [
  {
    group: 'helm.toolkit.fluxcd.io',
    kinds: ['HelmRelease'],
    objects: ['$.spec.chart', '$.spec.chartRef'],
    values: ['$.spec.valuesFrom[*]'],
  },
  {
    group: 'kustomize.toolkit.fluxcd.io',
    kinds: ['Kustomization'],
    objects: ['$.spec.sourceRef'],
    values: ['$.spec.postBuild.substituteFrom[*]'],
  },
  {
    group: 'fluxcd.controlplane.io',
    kinds: ['ResourceSet'],
    objects: [],
    values: ['$.spec.inputsFrom[*]'],
  },
  {
    group: 'argoproj.io',
    kinds: ['Application'],
    objects: ['$.spec.source', '$.spec.sources[*]'],
    values: [],
  },
  {
    group: 'argoproj.io',
    kinds: ['ApplicationSet'],
    objects: ['$.spec.template.spec.source', '$.spec.template.spec.sources[*]'],
    // A list generator has its values in the object.
    values: ['git', 'plugin', 'scmProvider', 'pullRequest', 'clusters', 'clusterDecisionResource'].map(
      (generator) => `$.spec.generators..${generator}`,
    ),
  },
  { group: 'fleet.cattle.io', kinds: ['GitRepo'], objects: ['$.spec.repo'], values: [] },
  {
    group: 'fleet.cattle.io',
    kinds: ['Bundle', 'HelmOp', 'HelmApp'],
    objects: ['$.spec.helm.chart'],
    values: ['$.spec.helm.valuesFrom[*]', '$.spec.targets[*].helm.valuesFrom[*]'],
  },
  {
    group: 'helm.cattle.io',
    kinds: ['HelmChart'],
    objects: ['$.spec.chart', '$.spec.chartContent'],
    values: ['$.spec.valuesSecrets[*]'],
  },
  {
    group: 'helm.cattle.io',
    kinds: ['HelmChartConfig'],
    objects: [],
    values: ['$.spec.valuesSecrets[*]'],
  },
];

const PATHS: ReadonlyMap<string, JsonPath> = new Map(
  FETCHING.flatMap(({ objects, values }) => [...objects, ...values]).map((text) => [
    text,
    parseJsonPath(text) as JsonPath,
  ]),
);

/** Advice about objects and values that a controller of the cluster fetches: nothing judges them, and their images do not travel. */
export const findUnjudged = (object: KubernetesObject): readonly FleetError[] => {
  const [group = ''] = object.apiVersion.split('/');
  const { root, document, text } = object.parsed;
  const advice = (
    path: string,
    describe: (field: FoundNode) => string,
    hint: string,
  ): readonly FleetError[] =>
    selectNodes(root, document, PATHS.get(path) as JsonPath)
      .filter(({ node }) => isGiven(resolveAlias(node, document)))
      .map(
        (field) =>
          new FleetError('CONTENT_UNJUDGED', describe(field), {
            subject: `${object.kind} ${object.name}`,
            at: placeOf(text, field.node, root),
            hint,
          }),
      );
  return FETCHING.filter((one) => one.group === group && one.kinds.includes(object.kind)).flatMap(
    ({ objects, values }) => [
      ...objects.flatMap((path) => advice(path, aboutObjects, OBJECTS_HINT)),
      ...values.flatMap((path) =>
        advice(
          path,
          (field) => aboutValues(field, referenceIn(resolveAlias(field.node, document), field.path)),
          VALUES_HINT,
        ),
      ),
    ],
  );
};

const isGiven = (value: unknown): boolean =>
  isMap(value) || (isScalar(value) && typeof value.value === 'string' && value.value !== '');

const aboutObjects = ({ path }: FoundNode): string =>
  `${path} is fetched by a controller of the cluster: nothing judges the objects that come of it, and their images are not pinned and not carried along`;

const OBJECTS_HINT =
  'Let the build read it, with manifests.chart or manifests.repo of the Workload (docs/applications.md), or bring its images to the sites in another way';

const aboutValues = ({ path }: FoundNode, source: string | undefined): string =>
  `${path} takes values from ${source ?? 'outside of the manifest'}, which the build does not read: nothing judges what they change, and images in them are not pinned and not carried along`;

const VALUES_HINT =
  'Write them into the manifest, let the build render the chart with them (docs/applications.md), or bring their images to the sites in another way';

/** 'Secret web-values': by kind and name, or by the name of the reference's field. Addresses are not quoted, since they may hold a password. */
const referenceIn = (value: unknown, path: string): string | undefined => {
  if (!isMap(value)) return undefined;
  const [kind, name] = [textOf(value, 'kind'), textOf(value, 'name')];
  if (name !== undefined && path.startsWith('spec.valuesSecrets')) return `Secret ${name}`;
  if (kind !== undefined && name !== undefined) return `${kind} ${name}`;
  for (const [field, named] of [
    ['configMapKeyRef', 'ConfigMap'],
    ['secretKeyRef', 'Secret'],
  ] as const) {
    const reference = value.get(field);
    const target = isMap(reference) ? textOf(reference, 'name') : undefined;
    if (target !== undefined) return `${named} ${target}`;
  }
  return undefined;
};

const textOf = (map: YAMLMap, key: string): string | undefined => {
  const value = map.get(key);
  return typeof value === 'string' && value !== '' ? value : undefined;
};
