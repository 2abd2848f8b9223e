import type { Place } from '#bundles/errors';
import { blockText } from '../yaml/block-text.ts';
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
  type Shape,
  text,
} from '../yaml/shape.ts';
import { readBounds } from './bounds.ts';
import { fieldPlaces, repositoryPlace, targetPlaces } from './field-places.ts';
import { type Metadata, objectShape } from './metadata.ts';
import type { PlatformObject, RepositoryFolder } from './platform-object.ts';
import { parseSchemaText } from './schema-text.ts';
import { selectorLabels } from './selector-labels.ts';
import { commit, policySpec } from './shared-shapes.ts';

export const KALYPSO_GROUP = 'scheduler.kalypso.io';

/** Reads one document of a kind that is known already. */
export type KindReader = (reading: Reading, at: Place) => PlatformObject | Bad;

/** Joins a kind's shape with what is made of it. */
export const kindReader =
  <S>(
    nameShape: Shape<string>,
    spec: Shape<S>,
    build: (metadata: Metadata, spec: S, at: Place, reading: Reading) => PlatformObject | Bad,
  ): KindReader =>
  (reading, at) => {
    const read = objectShape(nameShape, spec)(reading.parsed.root, '', reading);
    return read === BAD ? BAD : build(read.metadata, read.spec, at, reading);
  };

/** The fields of a ClusterType that name a Template. */
export const TEMPLATE_FIELDS = ['reconciler', 'namespaceService', 'configType'] as const;

const templateHint = (builtIn: string): string =>
  `Name a Template of the platform, or a built-in one: ${builtIn}`;

const folderFields = { repo: required(text), branch: required(text), path: required(text) };

const toFolder = (spec: { repo: string; branch: string; path: string }): RepositoryFolder => ({
  repo: spec.repo,
  revision: { kind: 'branch', name: spec.branch },
  path: spec.path,
});

const targetFields = fields({
  name: required(name),
  labels: optional(record(text), {}),
  environment: required(text),
  manifests: required(record(text)),
  configSchemas: optional(list(text), []),
});

/** Written alike in both groups. */
export const schedulingPolicy: KindReader = kindReader(objectName, policySpec, (metadata, spec, at) => ({
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
}));

/**
 * Kalypso's kinds that people write (behaviour.md section 1): a DeploymentTarget without a Workload too. Assignments and
 * their packages, which only its scheduler writes, are not among them.
 */
export const KALYPSO_KINDS: Readonly<Record<string, KindReader>> = {
  Environment: kindReader(
    name,
    fields({ controlPlane: required(fields(folderFields)) }),
    (metadata, spec, at) => ({
      kind: 'Environment',
      name: metadata.name,
      at,
      controlPlane: toFolder(spec.controlPlane),
    }),
  ),
  BaseRepo: kindReader(
    objectName,
    fields({ ...folderFields, commit: optional(commit, '') }),
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
  GitOpsRepo: kindReader(objectName, fields(folderFields), (metadata, spec, at) => ({
    kind: 'GitOpsRepo',
    name: metadata.name,
    at,
    folder: toFolder(spec),
  })),
  ClusterType: kindReader(
    name,
    fields({
      reconciler: required(text, templateHint('argocd, flux, ansible-pull and others (docs/reconcilers.md)')),
      namespaceService: required(text, templateHint('namespace, guarded-namespace and none')),
      configType: required(text, templateHint('configmap, env-file, json and shell')),
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
    objectName,
    fields({
      type: required(oneOf('reconciler', 'namespace', 'config')),
      contentType: optional(text, undefined),
      manifests: required(list(blockText)),
    }),
    (metadata, spec, at) => ({
      kind: 'Template',
      name: metadata.name,
      at,
      template: { name: metadata.name, engine: 'go', ...spec, at },
    }),
  ),
  ConfigSchema: kindReader(objectName, fields({ schema: required(text) }), (metadata, spec, at, reading) => {
    const parsed = parseSchemaText(spec.schema);
    const name = metadata.name;
    const selector = selectorLabels(metadata.labels);
    const read = 'schema' in parsed ? parsed : { schema: true, fault: parsed.error };
    const place = 'schema' in parsed ? at : (fieldPlaces(reading, ['schema']).schema ?? at);
    return { kind: 'ConfigSchema', name, at, schema: { name, selector, ...read, coerces: true, at: place } };
  }),
  WorkloadRegistration: kindReader(
    objectName,
    fields({ workload: required(fields(folderFields)), workspace: optional(text, '') }),
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
    name,
    fields({ deploymentTargets: optional(list(targetFields), []), configSchemas: optional(list(text), []) }),
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
    objectName,
    fields({
      environment: required(text),
      manifests: required(record(text)),
      configSchemas: optional(list(text), []),
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
