import { isMap } from 'yaml';
import { isDigest } from '#bundles/digest';
import { sha256 } from '../../bundle/host-fields.ts';
import { type Attachment, parseAttachment, TAKE_ALL } from '../../images/attachment.ts';
import type { Target, Value } from '../model.ts';
import type { Revision } from '../sources/location.ts';
import { blockText } from '../yaml/block-text.ts';
import { freeRecord, freeValue } from '../yaml/free-value.ts';
import {
  BAD,
  childOf,
  count,
  fields,
  flag,
  list,
  name,
  objectName,
  oneOf,
  optional,
  record,
  refuse,
  required,
  type Shape,
  text,
} from '../yaml/shape.ts';
import { readBounds } from './bounds.ts';
import { fieldPlaces, keyPlaces, repositoryPlace, targetPlaces } from './field-places.ts';
import { imageFieldsFields } from './image-fields-fields.ts';
import { imagePolicyFields } from './image-policy-fields.ts';
import { type KindReader, kindReader, schedulingPolicy, TEMPLATE_FIELDS } from './kalypso-kinds.ts';
import type { ConfigObject, RepositoryFolder } from './platform-object.ts';
import { schemaText } from './schema-text.ts';
import { workspaceFields } from './workspace-fields.ts';

export const FLEET_GROUP = 'fleet-ferry';

const matching =
  (pattern: RegExp, what: string): Shape<string> =>
  (node, path, reading) => {
    const value = text(node, path, reading);
    if (value === BAD || pattern.test(value)) return value;
    return refuse(reading, node, `${path} ${JSON.stringify(value)} is not ${what}`);
  };

const platformName = matching(/^[a-z0-9]+\/[a-z0-9]+(?:\/[a-z0-9.]+)?$/, 'a platform like linux/amd64');
const contentType = matching(/^[a-z0-9]{1,8}$/, 'a file extension like yaml, sh or env');

const chain: Shape<readonly { name: string }[]> = (node, path, reading) => {
  const read = list(fields({ name: required(name) }))(node, path, reading);
  if (read === BAD) return BAD;
  const twice = read.find((one, at) => read.findIndex((other) => other.name === one.name) !== at);
  if (twice) return refuse(reading, node, `${path} names ${twice.name} twice`);
  return read.length > 0 ? read : refuse(reading, node, `${path} is empty`, 'Name at least one environment');
};

const lockedImage: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || isDigest(value.slice(value.lastIndexOf('@') + 1))) return value;
  return refuse(reading, node, `${path} must be name@sha256:<64 hex digits>, not ${JSON.stringify(value)}`);
};

const indexDigest: Shape<string> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD || isDigest(value)) return value;
  return refuse(reading, node, `${path} must be sha256:<64 hex digits>, not ${JSON.stringify(value)}`);
};

const attachment: Shape<Attachment> = (node, path, reading) => {
  const value = text(node, path, reading);
  if (value === BAD) return BAD;
  const parsed = parseAttachment(value);
  if (parsed) return parsed;
  const hint = 'fleet-scheduler images lock --update writes them';
  const wanted = 'sha256:<64 hex digits>, or sha256-<hex>.sig@sha256:<hex> with .att and .sbom as well';
  return refuse(reading, node, `${path} must be ${wanted}, not ${JSON.stringify(value)}`, hint);
};

const configFields = fields({ selector: optional(record(text), {}), values: required(freeRecord) });

/** A Config's spec with the place of each key. */
const configSpec: Shape<ConfigObject> = (node, path, reading) => {
  const read = configFields(node, path, reading);
  if (read === BAD) return BAD;
  const values = isMap(node) ? childOf(node, 'values') : null;
  return { ...read, places: keyPlaces(values, reading) };
};

const schema: Shape<Value> = (node, path, reading) =>
  isMap(node) ? freeValue(node, path, reading) : schemaText(node, path, reading);

const workloadFields = fields({
  repo: required(text),
  branch: optional(text, undefined),
  ref: optional(text, undefined),
  path: optional(text, '.'),
});

const workloadFolder: Shape<RepositoryFolder> = (node, path, reading) => {
  const read = workloadFields(node, path, reading);
  if (read === BAD) return BAD;
  if (read.branch !== undefined && read.ref !== undefined)
    return refuse(reading, node, `${path} has a branch and a ref`, 'Keep one of them');
  return { repo: read.repo, revision: toRevision(read.branch, read.ref), path: read.path };
};

const toRevision = (branch: string | undefined, ref: string | undefined): Revision => {
  if (branch !== undefined) return { kind: 'branch', name: branch };
  return ref === undefined ? { kind: 'head' } : { kind: 'any', name: ref };
};

const targetFields = fields({
  name: required(name),
  labels: optional(record(text), {}),
  environment: required(name),
  manifests: optional(freeRecord, {}),
  configSchemas: optional(list(text), []),
  dependsOn: optional(list(name), []),
  critical: optional(flag, false),
});

/** What a cluster type has when it does not say: the least that works for what its packages are applied to. */
const clusterTypeDefaults = (target: Target) =>
  target === 'kubernetes'
    ? { namespaceService: 'namespace', configType: 'configmap' }
    : { namespaceService: 'none', configType: 'env-file' };

/** The kinds of fleet-ferry/v1alpha1. */
export const FLEET_KINDS: Readonly<Record<string, KindReader>> = {
  Fleet: kindReader(name, fields({ environments: required(chain) }), (metadata, spec, at) => ({
    kind: 'Fleet',
    name: metadata.name,
    at,
    environments: spec.environments.map((environment) => environment.name),
  })),
  ImagesLock: kindReader(
    objectName,
    fields({
      images: required(record(lockedImage)),
      charts: optional(record(lockedImage), {}),
      indexes: optional(record(indexDigest), {}),
      files: optional(record(fields({ sha256: required(sha256), size: required(count) })), {}),
      attachments: optional(record(list(attachment)), {}),
      take: optional(
        fields({
          attachments: optional(oneOf('all', 'signatures', 'none'), TAKE_ALL.attachments),
          maxBytes: optional(count, TAKE_ALL.maxBytes),
        }),
        TAKE_ALL,
      ),
    }),
    (metadata, spec, at) => ({
      kind: 'ImagesLock',
      name: metadata.name,
      at,
      // No image's name begins with a scheme, and every chart's does.
      images: new Map([...Object.entries(spec.images), ...Object.entries(spec.charts)]),
      indexes: new Map(Object.entries(spec.indexes)),
      files: new Map(
        Object.entries(spec.files).map(([url, { sha256: digest, size }]) => [url, { digest, size }]),
      ),
      attachments: new Map(Object.entries(spec.attachments)),
      take: spec.take,
    }),
  ),
  ImagePolicy: kindReader(objectName, imagePolicyFields, (metadata, spec, at) => ({
    kind: 'ImagePolicy',
    name: metadata.name,
    at,
    imagePolicy: { name: metadata.name, ...spec },
  })),
  ImageFields: kindReader(objectName, imageFieldsFields, (metadata, spec, at) => ({
    kind: 'ImageFields',
    name: metadata.name,
    at,
    imageFields: spec,
  })),
  ClusterType: kindReader(
    name,
    fields({
      target: optional(oneOf('kubernetes', 'host'), 'kubernetes'),
      reconciler: optional(text, 'fleet'),
      namespaceService: optional(text, undefined),
      configType: optional(text, undefined),
      platforms: optional(list(platformName), []),
      offline: optional(flag, false),
      requirements: optional(
        fields({
          diskBytes: optional(count, undefined),
          kubernetes: optional(text, undefined),
          agent: optional(text, undefined),
        }),
        {},
      ),
    }),
    (metadata, spec, at, reading) => {
      const defaults = clusterTypeDefaults(spec.target);
      return {
        kind: 'ClusterType',
        name: metadata.name,
        at,
        clusterType: {
          name: metadata.name,
          labels: metadata.labels,
          ...spec,
          namespaceService: spec.namespaceService ?? defaults.namespaceService,
          configType: spec.configType ?? defaults.configType,
          requirements: Object.fromEntries(
            Object.entries(spec.requirements).filter(([, value]) => value !== undefined),
          ),
          at,
          places: fieldPlaces(reading, TEMPLATE_FIELDS),
        },
      };
    },
  ),
  Template: kindReader(
    objectName,
    fields({
      type: required(oneOf('reconciler', 'namespace', 'config')),
      engine: optional(oneOf('handlebars', 'go'), 'handlebars'),
      contentType: optional(contentType, undefined),
      manifests: optional(list(blockText), []),
    }),
    (metadata, spec, at) => ({
      kind: 'Template',
      name: metadata.name,
      at,
      template: { name: metadata.name, ...spec, at },
    }),
  ),
  Config: kindReader(objectName, configSpec, (metadata, spec, at) => ({
    kind: 'Config',
    name: metadata.name,
    at,
    config: spec,
  })),
  ConfigSchema: kindReader(
    objectName,
    fields({ selector: optional(record(text), {}), schema: required(schema) }),
    (metadata, spec, at) => ({
      kind: 'ConfigSchema',
      name: metadata.name,
      at,
      schema: { name: metadata.name, ...spec, at },
    }),
  ),
  WorkloadRegistration: kindReader(
    objectName,
    fields({ workload: required(workloadFolder), workspace: optional(name, '') }),
    (metadata, spec, at, reading) => ({
      kind: 'WorkloadRegistration',
      name: metadata.name,
      at,
      ...spec,
      bounds: readBounds(metadata.annotations),
      ...repositoryPlace(reading),
    }),
  ),
  Workspace: kindReader(objectName, workspaceFields, (metadata, spec, at) => ({
    kind: 'Workspace',
    name: metadata.name,
    at,
    workspace: { name: metadata.name, ...spec, at },
  })),
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
        ...targetPlaces(reading, index),
      })),
      configSchemas: spec.configSchemas,
    }),
  ),
  SchedulingPolicy: schedulingPolicy,
};
