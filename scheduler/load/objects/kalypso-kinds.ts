import type { Place } from '#bundles/errors';
import { blockText } from '../../model/yaml/block-text.ts';
import {
  BAD,
  type Bad,
  fields,
  list,
  mapped,
  name,
  objectName,
  oneOf,
  optional,
  type Reading,
  record,
  required,
  type Schema,
  type Shape,
  text,
  withSchema,
} from '../../model/yaml/shape.ts';
import { readBounds, readWorkloadNames } from '../../model/bounds.ts';
import { fieldPlaces, repositoryPlace, targetPlaces } from './field-places.ts';
import { type Metadata, objectShape } from './metadata.ts';
import type { PlatformObject, RepositoryFolder, Spec, WorkloadTarget } from './platform-object.ts';
import { parseSchemaText } from './schema-text.ts';
import { selectorLabels } from './selector-labels.ts';
import { commit, manifests, policySpec, REGISTRATION, TARGET, TEMPLATE, WORKLOAD } from './shared-shapes.ts';

export const KALYPSO_GROUP = 'scheduler.kalypso.io';

/** Reads one document whose kind is known; `schema` describes the whole object. */
export type KindReader = ((reading: Reading, at: Place) => PlatformObject | Bad) & {
  readonly schema: Schema;
};

/** Combines a kind's shape with the function that builds its object. @param about one or two sentences for the reference */
export const kindReader = <S>(
  about: string,
  nameShape: Shape<string>,
  spec: Shape<S>,
  build: (spec: S, rest: { metadata: Metadata; at: Place; reading: Reading }) => Spec | Bad,
): KindReader => {
  const object = objectShape(nameShape, spec);
  const read = (reading: Reading, at: Place): PlatformObject | Bad => {
    const value = object(reading.parsed.root, '', reading);
    if (value === BAD) return BAD;
    const built = build(value.spec, { metadata: value.metadata, at, reading });
    return built === BAD ? BAD : { ...built, name: value.metadata.name, at };
  };
  return withSchema(read, () => ({ description: about, ...object.schema }));
};

/** The fields of a ClusterType that name a Template. */
export const TEMPLATE_FIELDS = ['reconciler', 'namespaceService', 'configType'] as const;

const templateHint = (builtIn: string): string =>
  `Name a Template of the platform, or a built-in one: ${builtIn}`;

const folderFields = {
  repo: required(text, 'Git URL.'),
  branch: required(text, 'Branch to read.'),
  path: required(text, 'Folder in the repository.'),
};

const toFolder = (spec: { repo: string; branch: string; path: string }): RepositoryFolder => ({
  repo: spec.repo,
  revision: { kind: 'branch', name: spec.branch },
  path: spec.path,
});

const KALYPSO_MANIFESTS = `${TARGET.manifests} A mapping of texts: lists are written with commas.`;

const targetFields = fields({
  name: required(name, TARGET.name),
  labels: optional(record(text), {}, TARGET.labels),
  environment: required(text, TARGET.environment),
  manifests: required(manifests(record(text)), KALYPSO_MANIFESTS),
  configSchemas: optional(list(text), [], TARGET.configSchemas),
});

const target: Shape<Omit<WorkloadTarget, 'at'>> = mapped(targetFields, (read) => ({
  ...read,
  dependsOn: [],
  critical: false,
}));

/** Identical in both groups. */
export const schedulingPolicy: KindReader = kindReader(
  'Schedules every selected deployment target on every selected cluster type. Each pair is one assignment.',
  objectName,
  policySpec,
  (spec, { metadata, at }) => ({
    kind: 'SchedulingPolicy',
    policy: {
      name: metadata.name,
      workspace: spec.deploymentTargetSelector.workspace,
      targets: spec.deploymentTargetSelector.labelSelector,
      clusterTypes: spec.clusterTypeSelector.labelSelector,
      at,
    },
  }),
);

/** A Workload, whose deployment targets differ between the groups. */
export const workloadReader = (
  target: Shape<Omit<WorkloadTarget, 'at'>>,
  coercion: { readonly coerces?: true },
): KindReader =>
  kindReader(
    WORKLOAD.about,
    name,
    fields({
      deploymentTargets: optional(list(target), [], WORKLOAD.deploymentTargets),
      configSchemas: optional(list(text), [], WORKLOAD.configSchemas),
    }),
    ({ deploymentTargets, configSchemas }, { metadata: { labels }, reading }) => ({
      kind: 'Workload',
      labels,
      targets: deploymentTargets.map((one, index) => ({ ...one, ...targetPlaces(reading, index) })),
      configSchemas,
      ...coercion,
    }),
  );

/**
 * Kalypso's kinds that users write (behaviour.md section 1), including a DeploymentTarget without a Workload. Assignments
 * and their packages are not included: only Kalypso's scheduler writes them.
 */
export const KALYPSO_KINDS: Readonly<Record<string, KindReader>> = {
  Environment: kindReader(
    'An environment of a Kalypso control plane, in `.environments/`. Its name is the name of the environment.',
    name,
    fields({
      controlPlane: required(
        fields(folderFields),
        'Folder of the repository and branch that hold the objects of this environment.',
      ),
    }),
    (spec) => ({
      kind: 'Environment',
      controlPlane: toFolder(spec.controlPlane),
    }),
  ),
  BaseRepo: kindReader(
    'A repository whose objects the environment takes over: templates, cluster types, registrations.',
    objectName,
    fields({
      ...folderFields,
      commit: optional(commit, '', 'Full commit id that is promoted. Without it the head of the branch.'),
    }),
    (spec) => ({
      kind: 'BaseRepo',
      folder:
        spec.commit === ''
          ? toFolder(spec)
          : { ...toFolder(spec), revision: { kind: 'commit', commit: spec.commit, branch: spec.branch } },
      commit: spec.commit === '' ? undefined : spec.commit,
    }),
  ),
  GitOpsRepo: kindReader(
    'The repository and branch that the rendered tree of the environment is proposed to.',
    objectName,
    fields(folderFields),
    (spec) => ({
      kind: 'GitOpsRepo',
      folder: toFolder(spec),
    }),
  ),
  ClusterType: kindReader(
    'A class of like clusters. Policies and configuration select it by its labels.',
    name,
    fields({
      reconciler: required(
        text,
        'Template that delivers the manifests: one of the platform, or a built-in one like `argocd` and `flux`.',
        templateHint('argocd, flux, ansible-pull and others (docs/reconcilers.md)'),
      ),
      namespaceService: required(
        text,
        'Template for the namespace of each assignment: one of the platform, or a built-in one like `namespace`.',
        templateHint('namespace, guarded-namespace and none'),
      ),
      configType: required(
        text,
        'Template that writes the platform configuration: one of the platform, or a built-in one like `configmap`.',
        templateHint('configmap, env-file, json and shell'),
      ),
    }),
    (spec, { metadata, at, reading }) => ({
      kind: 'ClusterType',
      clusterType: {
        name: metadata.name,
        labels: metadata.labels,
        ...spec,
        target: 'kubernetes',
        platforms: [],
        offline: false,
        requirements: {},
        at,
        places: fieldPlaces(reading, TEMPLATE_FIELDS),
      },
    }),
  ),
  Template: kindReader(
    TEMPLATE.about,
    objectName,
    fields({
      type: required(oneOf('reconciler', 'namespace', 'config'), TEMPLATE.type),
      contentType: optional(text, undefined, TEMPLATE.contentType),
      manifests: required(
        list(blockText),
        `${TEMPLATE.manifests} Go text/template with the functions of sprig.`,
      ),
    }),
    (spec, { metadata, at }) => ({
      kind: 'Template',
      template: { name: metadata.name, engine: 'go', ...spec, at },
    }),
  ),
  ConfigSchema: kindReader(
    'A JSON Schema that configuration must satisfy, where its labels or a deployment target select it.',
    objectName,
    fields({ schema: required(text, 'JSON Schema as JSON or YAML text.') }),
    (spec, { metadata, at, reading }) => {
      const parsed = parseSchemaText(spec.schema);
      const name = metadata.name;
      const selector = selectorLabels(metadata.labels);
      const read = 'schema' in parsed ? parsed : { schema: true, fault: parsed.error };
      const place = 'schema' in parsed ? at : (fieldPlaces(reading, ['schema']).schema ?? at);
      return { kind: 'ConfigSchema', schema: { name, selector, ...read, coerces: true, at: place } };
    },
  ),
  WorkloadRegistration: kindReader(
    REGISTRATION.about,
    objectName,
    fields({
      workload: required(fields(folderFields), REGISTRATION.workload),
      workspace: optional(text, '', REGISTRATION.workspace),
    }),
    (spec, { metadata, reading }) => ({
      kind: 'WorkloadRegistration',
      workload: toFolder(spec.workload),
      workspace: spec.workspace,
      bounds: readBounds(metadata.annotations),
      workloadNames: readWorkloadNames(metadata.annotations),
      ...repositoryPlace(reading),
    }),
  ),
  Workload: workloadReader(target, { coerces: true }),
  DeploymentTarget: kindReader(
    'A deployment target without a Workload. Its labels `workload` and `workspace` say whose it is.',
    objectName,
    fields({
      environment: required(text, TARGET.environment),
      manifests: required(manifests(record(text)), KALYPSO_MANIFESTS),
      configSchemas: optional(list(text), [], TARGET.configSchemas),
    }),
    (spec, { metadata: { name: own, labels }, at }) => {
      const { workload = '', workspace = '' } = labels;
      const shortName = own.startsWith(`${workload}-`) ? own.slice(workload.length + 1) : own;
      const about = { name: own, shortName, workload, workspace, labels, coerces: true, at };
      return { kind: 'DeploymentTarget', target: { ...about, ...spec, dependsOn: [], critical: false } };
    },
  ),
  SchedulingPolicy: schedulingPolicy,
};
