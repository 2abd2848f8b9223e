import type { Place } from '#bundles/errors';
import { blockText } from '../../model/yaml/block-text.ts';
import {
  BAD,
  type Bad,
  fields,
  list,
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
} from '../../model/yaml/shape.ts';
import { readBounds } from '../../model/bounds.ts';
import { fieldPlaces, repositoryPlace, targetPlaces } from './field-places.ts';
import { type Metadata, objectShape } from './metadata.ts';
import type { PlatformObject, RepositoryFolder } from './platform-object.ts';
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
  build: (metadata: Metadata, spec: S, at: Place, reading: Reading) => PlatformObject | Bad,
): KindReader => {
  const object = objectShape(nameShape, spec);
  const read = (reading: Reading, at: Place): PlatformObject | Bad => {
    const value = object(reading.parsed.root, '', reading);
    return value === BAD ? BAD : build(value.metadata, value.spec, at, reading);
  };
  return Object.assign(read, { schema: { description: about, ...object.schema } });
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

/** Identical in both groups. */
export const schedulingPolicy: KindReader = kindReader(
  'Schedules every selected deployment target on every selected cluster type. Each pair is one assignment.',
  objectName,
  policySpec,
  (metadata, spec, at) => ({
    kind: 'SchedulingPolicy',
    name: metadata.name,
    at,
    policy: {
      name: metadata.name,
      workspace: spec.deploymentTargetSelector.workspace,
      targets: spec.deploymentTargetSelector.labelSelector,
      clusterTypes: spec.clusterTypeSelector.labelSelector,
      at,
    },
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
    (metadata, spec, at) => ({
      kind: 'Environment',
      name: metadata.name,
      at,
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
    (metadata, spec, at) => ({
      kind: 'BaseRepo',
      name: metadata.name,
      at,
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
    (metadata, spec, at) => ({
      kind: 'GitOpsRepo',
      name: metadata.name,
      at,
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
    (metadata, spec, at, reading) => ({
      kind: 'ClusterType',
      name: metadata.name,
      at,
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
    (metadata, spec, at) => ({
      kind: 'Template',
      name: metadata.name,
      at,
      template: { name: metadata.name, engine: 'go', ...spec, at },
    }),
  ),
  ConfigSchema: kindReader(
    'A JSON Schema that configuration must satisfy, where its labels or a deployment target select it.',
    objectName,
    fields({ schema: required(text, 'JSON Schema as JSON or YAML text.') }),
    (metadata, spec, at, reading) => {
      const parsed = parseSchemaText(spec.schema);
      const name = metadata.name;
      const selector = selectorLabels(metadata.labels);
      const read = 'schema' in parsed ? parsed : { schema: true, fault: parsed.error };
      const place = 'schema' in parsed ? at : (fieldPlaces(reading, ['schema']).schema ?? at);
      return {
        kind: 'ConfigSchema',
        name,
        at,
        schema: { name, selector, ...read, coerces: true, at: place },
      };
    },
  ),
  WorkloadRegistration: kindReader(
    REGISTRATION.about,
    objectName,
    fields({
      workload: required(fields(folderFields), REGISTRATION.workload),
      workspace: optional(text, '', REGISTRATION.workspace),
    }),
    (metadata, spec, at, reading) => ({
      kind: 'WorkloadRegistration',
      name: metadata.name,
      at,
      workload: toFolder(spec.workload),
      workspace: spec.workspace,
      bounds: readBounds(metadata.annotations),
      ...repositoryPlace(reading),
    }),
  ),
  Workload: kindReader(
    WORKLOAD.about,
    name,
    fields({
      deploymentTargets: optional(list(targetFields), [], WORKLOAD.deploymentTargets),
      configSchemas: optional(list(text), [], WORKLOAD.configSchemas),
    }),
    (metadata, spec, at, reading) => ({
      kind: 'Workload',
      name: metadata.name,
      at,
      labels: metadata.labels,
      targets: spec.deploymentTargets.map((target, index) => ({
        ...target,
        dependsOn: [],
        critical: false,
        ...targetPlaces(reading, index),
      })),
      configSchemas: spec.configSchemas,
      coerces: true,
    }),
  ),
  DeploymentTarget: kindReader(
    'A deployment target without a Workload. Its labels `workload` and `workspace` say whose it is.',
    objectName,
    fields({
      environment: required(text, TARGET.environment),
      manifests: required(manifests(record(text)), KALYPSO_MANIFESTS),
      configSchemas: optional(list(text), [], TARGET.configSchemas),
    }),
    ({ name: own, labels }, spec, at) => {
      const { workload = '', workspace = '' } = labels;
      const shortName = own.startsWith(`${workload}-`) ? own.slice(workload.length + 1) : own;
      const about = { name: own, shortName, workload, workspace, labels, coerces: true, at };
      return {
        kind: 'DeploymentTarget',
        name: own,
        at,
        target: { ...about, ...spec, dependsOn: [], critical: false },
      };
    },
  ),
  SchedulingPolicy: schedulingPolicy,
};
