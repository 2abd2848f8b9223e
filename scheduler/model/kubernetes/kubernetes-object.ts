import type { Document, Node } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';
import { type ParsedDocument, parseDocuments, placeOf } from '../yaml/parse-documents.ts';
import { flattenList } from './flatten-list.ts';
import { plainDocument } from './plain-document.ts';
import { sopsMac } from './sops-mac.ts';

/** One Kubernetes object of a package. It keeps the author's YAML document, so that only changed fields are rewritten. */
export type KubernetesObject = {
  readonly parsed: ParsedDocument;
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly at: Place;
};

/** Cluster-scoped kinds that are built into Kubernetes. Custom kinds count as namespaced, as in kustomize. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  'APIService',
  'CSIDriver',
  'CSINode',
  'CertificateSigningRequest',
  'ClusterRole',
  'ClusterRoleBinding',
  'ClusterTrustBundle',
  'ComponentStatus',
  'CustomResourceDefinition',
  'DeviceClass',
  'DeviceTaintRule',
  'FlowSchema',
  'IPAddress',
  'IngressClass',
  'MutatingAdmissionPolicy',
  'MutatingAdmissionPolicyBinding',
  'MutatingWebhookConfiguration',
  'Namespace',
  'Node',
  'PersistentVolume',
  'PriorityClass',
  'PriorityLevelConfiguration',
  'ResourceSlice',
  'RuntimeClass',
  'SelfSubjectAccessReview',
  'SelfSubjectReview',
  'SelfSubjectRulesReview',
  'ServiceCIDR',
  'StorageClass',
  'StorageVersion',
  'StorageVersionMigration',
  'SubjectAccessReview',
  'TokenReview',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
  'ValidatingWebhookConfiguration',
  'VolumeAttachment',
  'VolumeAttributesClass',
]);

export const isClusterScoped = (kind: string): boolean => CLUSTER_SCOPED.has(kind);

/**
 * Every object of a file, with Lists split into their items. What a cluster would reject is added to `problems`
 * (OBJECT_INVALID, YAML_SYNTAX), not skipped.
 */
export const readKubernetesObjects = (
  shownFile: string,
  content: Buffer | string,
  problems: FleetError[],
): readonly KubernetesObject[] =>
  parseDocuments(shownFile, content, problems, noObject)
    .flatMap((document) => plainDocument(document, problems))
    .flatMap((document) => flattenList(document, problems))
    .flatMap((parsed) => toObject(parsed, problems));

const toObject = (parsed: ParsedDocument, problems: FleetError[]): readonly KubernetesObject[] => {
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
};

const noObject = (at: Place): FleetError =>
  new FleetError('OBJECT_INVALID', 'this is not a Kubernetes object', {
    at,
    hint: 'If it is not meant for a cluster, name it in a .sourceignore, or move it to another folder',
  });

const incomplete = (at: Place, apiVersion: string | undefined, kind: string | undefined): FleetError => {
  if (apiVersion === undefined && kind === undefined) return noObject(at);
  if (kind?.endsWith('List')) {
    return new FleetError('OBJECT_INVALID', `this ${kind} has no list of items`, {
      at,
      hint: 'Give it items, or remove it',
    });
  }
  const next = kind === undefined ? 'kind' : 'metadata.name';
  const missing = apiVersion === undefined ? 'apiVersion' : next;
  return new FleetError('OBJECT_INVALID', `this object has no ${missing}`, {
    subject: kind,
    at,
    hint: `Give it ${missing === 'apiVersion' ? 'an' : 'a'} ${missing}`,
  });
};

const textAt = (document: Document, path: readonly string[]): string | undefined => {
  const value = document.getIn(path);
  return typeof value === 'string' ? value : undefined;
};

/** The place of a field, or of the object if the field is absent. */
export const placeOfField = ({ parsed }: KubernetesObject, path: readonly (number | string)[]): Place =>
  placeOf(parsed.text, parsed.document.getIn(path, true) as Node | undefined, parsed.root);

/** Sets the namespace of a namespaced object that has none. */
export const stampNamespace = (object: KubernetesObject, namespace: string): void => {
  if (object.namespace === undefined && !isClusterScoped(object.kind)) {
    object.parsed.document.setIn(['metadata', 'namespace'], namespace);
  }
};

/**
 * The YAML text of these objects. Fields that were not set stay as their author wrote them; an encrypted object stays
 * identical to the byte.
 */
export const formatObjects = (objects: readonly KubernetesObject[]): string =>
  objects
    .map(({ parsed }) =>
      sopsMac({ parsed }) === undefined
        ? parsed.document.toString({ lineWidth: 0 }).replace(/^---\n/, '')
        : asWritten(parsed),
    )
    .join('---\n');

const asWritten = ({ text, root }: ParsedDocument): string => {
  const [start, , end] = root.range ?? [0, 0, 0];
  return `${text.text.slice(start, end).trimEnd()}\n`;
};
