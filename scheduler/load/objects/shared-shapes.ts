import type { LabelSelector } from '../../model/model.ts';
import { hasEntries, implies, is, keeping, not } from '../../model/yaml/field-rules.ts';
import {
  fields,
  list,
  oneOf,
  optional,
  record,
  required,
  ruled,
  type Schema,
  type Shape,
  text,
  textLike,
} from '../../model/yaml/shape.ts';

/** An expression of Kubernetes' label selector, with any of the four operators. */
const expression: Shape<LabelSelector['matchExpressions'][number]> = keeping(
  fields({
    key: required(text, 'Name of the label.'),
    operator: required(
      oneOf('In', 'NotIn', 'Exists', 'DoesNotExist'),
      '`In` and `NotIn` compare with `values`; `Exists` and `DoesNotExist` take none.',
    ),
    values: optional(list(text), [], 'Values of the label, at least one with `In` and `NotIn`.'),
  }),
  [
    implies(is('operator', 'In', 'NotIn'), hasEntries('values')),
    ({ operator }, path) => `${path}: the operator ${operator} needs at least one of values`,
  ],
  [
    implies(is('operator', 'Exists', 'DoesNotExist'), not(hasEntries('values'))),
    ({ operator }, path) => `${path}: the operator ${operator} has no values`,
  ],
);

const labelSelector: Shape<LabelSelector> = fields({
  matchLabels: optional(record(text), {}, 'Labels with exactly these values, all of them.'),
  matchExpressions: optional(list(expression), [], 'Expressions that must hold, all of them.'),
});

/** Selects everything; used when there is no selector. */
const EVERYTHING: LabelSelector = { matchLabels: {}, matchExpressions: [] };

export const policySpec = fields({
  deploymentTargetSelector: required(
    fields({
      workspace: optional(text, '', 'Only deployment targets of this workspace. Without it those of all.'),
      labelSelector: optional(
        labelSelector,
        EVERYTHING,
        'Kubernetes label selector over the labels of deployment targets. Without it all are selected.',
      ),
    }),
    'Which deployment targets to schedule.',
  ),
  clusterTypeSelector: required(
    fields({
      labelSelector: optional(
        labelSelector,
        EVERYTHING,
        'Kubernetes label selector over the labels of cluster types. Without it all are selected.',
      ),
    }),
    'Which cluster types to schedule them on.',
  ),
});

/** A full commit id; "" is the result of a template without one. */
export const commit: Shape<string> = textLike(
  /^(?:[0-9a-f]{40}|[0-9a-f]{64})?$/,
  'is not a commit',
  'Write all 40 hex digits: a short one can mean another commit tomorrow',
);

/** The keys of `manifests` that the scheduler reads (docs/applications.md); templates may use others, of any type. */
const MANIFEST_KEYS: Readonly<Record<string, string>> = {
  repo: 'Another repository than the one of the WorkloadRegistration.',
  branch: 'Branch of `repo`.',
  ref: 'Branch, tag or commit of `repo`.',
  path: 'Folder in the repository.',
  type: '`plain`, `kustomize` or `helm`. Without it the files of the folder decide.',
  values: 'Helm: values files relative to `path`, later ones win.',
  valuesFrom: 'Helm: `config` passes the composed configuration as values, over all files.',
  valuesKey: 'Helm: key for these values, with dots for deeper ones. Without it they are at the top.',
  releaseName: 'Helm: name of the release. Without it the name of the deployment target.',
  hooks: 'Helm: what happens to hooks, `refuse`, `keep` or `drop`.',
  chart: 'Helm: address of a chart, `oci://` or `https://`, instead of a folder.',
  version: 'Helm: exact version of `chart`.',
  objectAnnotations:
    'Annotations of ours for objects that the author may not edit, like those of a chart: a list of `target` (kind, name) and `set`.',
};

/** A target's `manifests`, with a description of each key. */
export const manifests = <T>(like: Shape<T>): Shape<T> => {
  const { additionalProperties: value = {} } = like.schema as { additionalProperties?: Schema };
  const keys = Object.entries(MANIFEST_KEYS).map(([key, description]) => [key, { description, ...value }]);
  return ruled(like, { properties: Object.fromEntries(keys) as Schema });
};

/** Reference texts of fields that both groups have. */
export const REPO = 'Git URL, or a directory relative to the platform.';
export const WORKLOAD_PATH = 'Folder of the Workload in that repository.';

export const TARGET = {
  name: 'Name within the workload. The assignment is called `<workload>-<name>`.',
  labels: 'Labels that policies and configuration select by.',
  environment: 'Environment that this target is for.',
  manifests: 'Where the manifests are and how they are rendered.',
  configSchemas:
    'ConfigSchemas, by name, that the composed configuration must satisfy besides those that select it.',
} as const;

export const TEMPLATE = {
  about: 'Text that is rendered for each assignment. A cluster type names its templates.',
  type: 'Field of ClusterType that names it: `reconciler`, `namespace` (namespaceService) or `config` (configType).',
  contentType: 'Extension of the rendered file, like `yaml`, `sh` or `env`. Without it `yaml`.',
  manifests: 'The texts to render, joined as documents of one file.',
} as const;

export const REGISTRATION = {
  about: 'Registers an application: where its Workload is and which team it belongs to.',
  workload: 'Folder of a repository that holds the Workload.',
  workspace: 'Workspace of the application. Its grants and limits apply.',
} as const;

export const WORKLOAD = {
  about: 'An application, in its own repository: where it wants to run, by labels. It names no cluster type.',
  deploymentTargets: 'Where the application runs, one entry for each environment and variant.',
  configSchemas: 'ConfigSchemas, by name, for all deployment targets.',
} as const;
