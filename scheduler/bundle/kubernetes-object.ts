import { type Document, isMap, isScalar, isSeq, type Node, type YAMLMap } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { type ParsedDocument, parseDocuments, placeOf } from '../platform/yaml/parse-documents.ts';

/** One Kubernetes object of a package, still the YAML its author wrote, so that only what must change does. */
export type KubernetesObject = {
  readonly parsed: ParsedDocument;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly at: Place;
};

/** Kinds without a namespace among those that Kubernetes brings; custom kinds count as namespaced, as kustomize has it. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'APIService',
  'CSIDriver',
  'CSINode',
  'ClusterRole',
  'ClusterRoleBinding',
  'CustomResourceDefinition',
  'FlowSchema',
  'IngressClass',
  'MutatingWebhookConfiguration',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PriorityClass',
  'PriorityLevelConfiguration',
  'RuntimeClass',
  'StorageClass',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'VolumeAttachment',
]);

export const isClusterScoped = (kind: string): boolean => CLUSTER_SCOPED.has(kind);

/** Every object of a file. What a cluster would not take goes to `problems`: left out silently, it would be missed late. */
export const readKubernetesObjects = (
  shownFile: string,
  bytes: Buffer,
  problems: FleetError[],
): readonly KubernetesObject[] =>
  parseDocuments(shownFile, bytes, problems, noObject).flatMap((parsed) => {
    const at = placeOf(parsed.text, parsed.root);
    const apiVersion = textAt(parsed.document, ['apiVersion']);
    const kind = textAt(parsed.document, ['kind']);
    const name = textAt(parsed.document, ['metadata', 'name']);
    if (apiVersion === undefined || kind === undefined || name === undefined) {
      problems.push(incomplete(at, apiVersion, kind));
      return [];
    }
    const namespace = textAt(parsed.document, ['metadata', 'namespace']);
    return [{ parsed, apiVersion, kind, name, namespace, at }];
  });

const noObject = (at: Place): FleetError =>
  new FleetError('OBJECT_INVALID', 'this is no Kubernetes object', {
    at,
    hint: 'If it is not meant for a cluster, name it in a .sourceignore, or move it to another folder',
  });

const incomplete = (at: Place, apiVersion: string | undefined, kind: string | undefined): FleetError => {
  if (apiVersion === undefined && kind === undefined) return noObject(at);
  if (kind?.endsWith('List')) {
    return new FleetError('OBJECT_INVALID', `a ${kind} is not taken`, {
      at,
      hint: 'Write its items as documents of their own, with --- between them',
    });
  }
  const missing = apiVersion === undefined ? 'apiVersion' : kind === undefined ? 'kind' : 'metadata.name';
  return new FleetError('OBJECT_INVALID', `this object has no ${missing}`, {
    ...(kind !== undefined && { subject: kind }),
    at,
    hint: `Give it ${missing === 'apiVersion' ? 'an' : 'a'} ${missing}`,
  });
};

const textAt = (document: Document, path: readonly string[]): string | undefined => {
  const value = document.getIn(path);
  return typeof value === 'string' ? value : undefined;
};

/** Puts a namespaced object without a namespace into this one. */
export const stampNamespace = (object: KubernetesObject, namespace: string): void => {
  if (object.namespace === undefined && !isClusterScoped(object.kind)) {
    object.parsed.document.setIn(['metadata', 'namespace'], namespace);
  }
};

export type ContainerField = {
  readonly container: YAMLMap;
  readonly image: string;
  readonly at: Place;
  readonly pullPolicy: string | undefined;
};

const CONTAINER_LISTS: ReadonlySet<string> = new Set(['containers', 'initContainers', 'ephemeralContainers']);

/** Every container of an object, wherever a pod template may hide: all pod-bearing kinds, lists and custom kinds. */
export const containersOf = (object: KubernetesObject): readonly ContainerField[] => {
  const found: ContainerField[] = [];
  visit(object.parsed.root, object.parsed, found);
  return found;
};

const visit = (node: Node | null, parsed: ParsedDocument, found: ContainerField[]): void => {
  if (isSeq(node)) for (const item of node.items) visit(item as Node, parsed, found);
  if (!isMap(node)) return;
  for (const pair of node.items) {
    const key = isScalar(pair.key) ? String(pair.key.value) : '';
    const value = pair.value as Node | null;
    if (CONTAINER_LISTS.has(key) && isSeq(value)) {
      for (const item of value.items) if (isMap(item)) addContainer(item, parsed, found);
    }
    visit(value, parsed, found);
  }
};

const addContainer = (container: YAMLMap, parsed: ParsedDocument, found: ContainerField[]): void => {
  const image = container.get('image');
  const policy = container.get('imagePullPolicy');
  if (typeof image !== 'string') return;
  const at = placeOf(parsed.text, container.get('image', true), container);
  found.push({ container, image, at, pullPolicy: typeof policy === 'string' ? policy : undefined });
};

/** Text of a file made of these objects: each as its author wrote it but for what was set. */
export const formatObjects = (objects: readonly KubernetesObject[]): string =>
  objects.map(({ parsed }) => parsed.document.toString({ lineWidth: 0 }).replace(/^---\n/, '')).join('---\n');
