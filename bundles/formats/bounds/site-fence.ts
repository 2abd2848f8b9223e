/**
 * Limits of site values in a Kubernetes object (docs/site-values.md): they never decide its identity, the privileges of its pods, images,
 * or objects that are fences themselves. Values come from people who review no manifests.
 */

import { isRecord } from '../../is-record.ts';

type Fields = { readonly [field: string]: unknown };

/** API groups whose objects give rights, admit objects or add kinds. */
const FENCED_GROUPS: ReadonlySet<string> = new Set([
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'certificates.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'node.k8s.io',
  'rbac.authorization.k8s.io',
  'scheduling.k8s.io',
]);

/** Kinds of the core group that bound a namespace, give an identity, or hold secrets. */
const FENCED_KINDS: ReadonlySet<string> = new Set([
  'LimitRange',
  'Namespace',
  'Node',
  'PersistentVolume',
  'ResourceQuota',
  'Secret',
  'ServiceAccount',
]);

/** Fields of pods, at any depth, since custom resources nest pod specs anywhere. In lower case: some definitions write them otherwise. */
const FENCED_FIELDS: ReadonlySet<string> = new Set(
  [
    'allowPrivilegeEscalation',
    'appArmorProfile',
    'automountServiceAccountToken',
    'capabilities',
    'ephemeralContainers',
    'hostIPC',
    'hostNetwork',
    'hostPath',
    'hostPID',
    'hostPort',
    'hostUsers',
    'image',
    'imagePullPolicy',
    'imagePullSecrets',
    'kubeConfig',
    'namespace',
    'nodeName',
    'podSecurityContext',
    'priorityClassName',
    'privileged',
    'procMount',
    'resourceClaims',
    'runAsGroup',
    'runAsNonRoot',
    'runAsUser',
    'runtimeClassName',
    'seccompProfile',
    'securityContext',
    'seLinuxOptions',
    'serviceAccount',
    'serviceAccountName',
    'serviceAccountToken',
    'sysctls',
    'targetNamespace',
    'volumeDevices',
    'windowsOptions',
  ].map((field) => field.toLowerCase()),
);

/** Objects by which another reconciler fetches further objects: from where and into which namespace is checked at the build. */
const isFetcher = (group: string, kind: string): boolean =>
  group.endsWith('.toolkit.fluxcd.io') ||
  (group === 'argoproj.io' && ['AppProject', 'Application', 'ApplicationSet'].includes(kind)) ||
  group === 'fleet.cattle.io';

/** Labels and annotations that a program acts on: ours, and those that select a security profile. */
const FENCED_MARK =
  /^(?:fleet-ferry\/|kustomize\.toolkit\.fluxcd\.io\/|argocd\.argoproj\.io\/|pod-security\.kubernetes\.io\/|(?:container\.)?(?:apparmor|seccomp)\.security\.)/;

const IMAGE = /@sha256:[0-9a-f]{64}/;

/**
 * Returns why a site value may not go to a field of an object, or undefined if it may. The object is the one before the value is in.
 * @param tokens of the field, from the root of the object
 * @param value undefined at the build, where no site's value is known; then only the field is judged
 */
export const siteFence = (object: Fields, tokens: readonly string[], value?: unknown): string | undefined => {
  const [kind, apiVersion] = [textOf(object['kind']), textOf(object['apiVersion'])];
  if (kind.endsWith('List') && tokens[0] === 'items' && Array.isArray(object['items'])) {
    const item: unknown = object['items'][Number(tokens[1])];
    return isRecord(item)
      ? siteFence(item, tokens.slice(2), value)
      : 'a list of objects is not a field of one';
  }
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';
  const fenced = kindFence(group, kind, tokens);
  if (fenced !== undefined) return fenced;
  const [first, second, third] = tokens;
  if (first === 'metadata') return markFence(second, third, value);
  // Keys of a ConfigMap are names of its author's, and nothing that a cluster acts on.
  if (group === '' && kind === 'ConfigMap')
    return first === 'data' ? undefined : `only keys of data take values`;
  return onPath(tokens) ?? inValue(value) ?? pinned(fieldAt(object, tokens));
};

/** Why no site decides about objects of a kind, or about a field that every kind has. */
const kindFence = (group: string, kind: string, tokens: readonly string[]): string | undefined => {
  if (FENCED_GROUPS.has(group) || (group === '' && FENCED_KINDS.has(kind)))
    return kind === 'Secret' ? 'secrets come from secret sets' : `a ${kind} gives or limits rights`;
  const [first = '', second] = tokens;
  if (first === '' || first === 'apiVersion' || first === 'kind' || first === 'status')
    return `${first === '' ? 'the whole object' : first} is not decided at a site`;
  if (isFetcher(group, kind) && !(kind === 'HelmRelease' && second === 'values'))
    return `a ${kind} says what another reconciler fetches`;
  return undefined;
};

const markFence = (part: string | undefined, key: string | undefined, value: unknown): string | undefined => {
  if ((part !== 'labels' && part !== 'annotations') || key === undefined)
    return 'of metadata, only single labels and annotations are decided at a site';
  if (value !== undefined && typeof value !== 'string') return 'a label or annotation is text';
  return FENCED_MARK.test(key) ? `${key} is not decided at a site` : undefined;
};

const onPath = (tokens: readonly string[]): string | undefined => {
  for (const [depth, token] of tokens.entries()) {
    if (FENCED_FIELDS.has(token.toLowerCase())) return `${token} is not decided at a site`;
    // Of a pod template: its metadata is the same as that of an object.
    if (token === 'metadata' && depth > 0) {
      const found = markFence(tokens[depth + 1], tokens[depth + 2], undefined);
      if (found !== undefined) return found;
    }
  }
  return undefined;
};

/** A fenced field anywhere in a value, such as a list of volumes with a hostPath. */
const inValue = (value: unknown): string | undefined => {
  if (Array.isArray(value)) return firstOf(value, inValue);
  if (!isRecord(value)) return undefined;
  return firstOf(Object.entries(value), ([key, inner]) => {
    if (FENCED_FIELDS.has(key.toLowerCase()) || key === 'metadata')
      return `a value with ${key} is not decided at a site`;
    return FENCED_MARK.test(key) ? `${key} is not decided at a site` : inValue(inner);
  });
};

/** Images are pinned by the build, and come along with the bundle. */
const pinned = (node: unknown): string | undefined => {
  if (typeof node === 'string')
    return IMAGE.test(node) ? 'it names an image, which the build decides' : undefined;
  if (Array.isArray(node)) return firstOf(node, pinned);
  if (!isRecord(node)) return undefined;
  return firstOf(Object.entries(node), ([key, inner]) =>
    FENCED_FIELDS.has(key.toLowerCase()) ? `it has ${key}, which is not decided at a site` : pinned(inner),
  );
};

const firstOf = <T>(items: readonly T[], find: (item: T) => string | undefined): string | undefined => {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** The value of a field, or undefined. */
export const fieldAt = (node: unknown, tokens: readonly string[]): unknown => {
  let found = node;
  for (const token of tokens) {
    if (Array.isArray(found)) found = /^(?:0|[1-9]\d{0,8})$/.test(token) ? found[Number(token)] : undefined;
    else found = isRecord(found) && Object.hasOwn(found, token) ? found[token] : undefined;
  }
  return found;
};

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
