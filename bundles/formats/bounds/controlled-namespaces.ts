/** Namespaces that an object names for its controller, which writes there with rights of its own: bounds hold for them as for the object's own. */

import { isRecord } from '../../is-record.ts';
import { stableText } from '../../json/stable-hash.ts';

export type ControlledNamespace = {
  /** Of the field, from the root of the object. */
  readonly path: readonly (number | string)[];
  readonly namespace: string;
};

const FLEET_BUNDLE = [
  'spec.defaultNamespace',
  'spec.namespace',
  'spec.targets.*.defaultNamespace',
  'spec.targets.*.namespace',
];

/** By group and kind, in any version. A `*` is each item of a list and each field of a mapping. */
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['helm.toolkit.fluxcd.io/HelmRelease', ['spec.targetNamespace', 'spec.storageNamespace']],
  ['kustomize.toolkit.fluxcd.io/Kustomization', ['spec.targetNamespace']],
  ['argoproj.io/Application', ['spec.destination.namespace']],
  [
    'argoproj.io/ApplicationSet',
    [
      'spec.template.spec.destination.namespace',
      // Each generator may have a template that overrides fields of the one above.
      'spec.generators.*.*.template.spec.destination.namespace',
    ],
  ],
  ['helm.cattle.io/HelmChart', ['spec.targetNamespace']],
  ['fleet.cattle.io/GitRepo', ['spec.targetNamespace']],
  ['fleet.cattle.io/HelmOp', FLEET_BUNDLE],
  // HelmOp until Rancher Fleet 0.12.
  ['fleet.cattle.io/HelmApp', FLEET_BUNDLE],
  ['fleet.cattle.io/Bundle', FLEET_BUNDLE],
]);

/** Whether objects of this kind may name a namespace that their controller writes into. */
export const hasController = (group: string, kind: string): boolean => FIELDS.has(`${group}/${kind}`);

/** @returns the namespaces that an object names in such fields, as they are written: a template of an ApplicationSet is not filled in */
export const controlledNamespaces = (
  group: string,
  kind: string,
  object: unknown,
): readonly ControlledNamespace[] =>
  (FIELDS.get(`${group}/${kind}`) ?? []).flatMap((field) => valuesAt(object, field.split('.'), []));

const valuesAt = (
  node: unknown,
  [token, ...rest]: readonly string[],
  path: ControlledNamespace['path'],
): readonly ControlledNamespace[] => {
  if (token === undefined)
    return node === undefined || node === null || node === '' ? [] : [{ path, namespace: textOf(node) }];
  if (token === '*') {
    if (Array.isArray(node)) return node.flatMap((item, at) => valuesAt(item, rest, [...path, at]));
    return isRecord(node)
      ? Object.entries(node).flatMap(([field, value]) => valuesAt(value, rest, [...path, field]))
      : [];
  }
  return isRecord(node) && Object.hasOwn(node, token) ? valuesAt(node[token], rest, [...path, token]) : [];
};

/** A value that is not a string is judged by its JSON. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : stableText(value));
