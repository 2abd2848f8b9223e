import { compareBytes, digestOf } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { type ParsedDocument } from '../bundle/parse-manifests.ts';
import { stableText } from '../../json/stable-hash.ts';

type Fields = ParsedDocument['value'];

/** Annotation of pod templates: a hash of the ConfigMaps with site values that the pods read. */
export const SITE_VALUES_MARK = 'fleet-ferry/site-values';

/**
 * Annotates the pod templates that read one of these ConfigMaps with a hash of their content, so that their controllers replace the pods
 * when it changes. Jobs keep their template, which nobody may change; a CronJob's next run reads the new content anyway.
 * @param maps the ConfigMaps with the site's values in them
 */
export const markReaders = (
  documents: readonly ParsedDocument[],
  maps: readonly ParsedDocument[],
): readonly ParsedDocument[] => {
  if (maps.length === 0) return documents;
  const contents = new Map(maps.map(({ value }) => [placeOf(value, nameOf(value)), contentOf(value)]));
  return documents.map((document) => {
    const { value } = document;
    const template = templateOf(value);
    if (!template) return document;
    const read = [...configMapsIn(template['spec'])]
      .map((name) => placeOf(value, name))
      .filter((place) => contents.has(place))
      .toSorted(compareBytes);
    if (read.length === 0) return document;
    const hash = digestOf(read.map((place) => `${place}\n${contents.get(place)}\n`).join('')).slice(7, 39);
    return { ...document, value: withMark(value, template, hash) };
  });
};

/** A ConfigMap is read by pods of its own namespace. */
const placeOf = ({ metadata }: Fields, name: string): string => {
  const namespace = isRecord(metadata) ? metadata['namespace'] : undefined;
  return `${typeof namespace === 'string' ? namespace : ''}/${name}`;
};

const nameOf = ({ metadata }: Fields): string => {
  const name = isRecord(metadata) ? metadata['name'] : undefined;
  return typeof name === 'string' ? name : '';
};

const contentOf = ({ data, binaryData }: Fields): string =>
  stableText({ data: data ?? {}, binaryData: binaryData ?? {} });

/** The template of a controller that replaces its pods when the template changes: Deployment, StatefulSet, DaemonSet and custom kinds alike. */
const templateOf = ({ apiVersion, kind, spec }: Fields): Fields | undefined => {
  if (typeof apiVersion !== 'string' || apiVersion.startsWith('batch/') || kind === 'ReplicaSet')
    return undefined;
  const template = isRecord(spec) ? spec['template'] : undefined;
  if (!isRecord(template) || !isRecord(template['spec'])) return undefined;
  return Array.isArray(template['spec']['containers']) ? template : undefined;
};

/** Names of the ConfigMaps that a pod mounts or has variables of. */
const configMapsIn = (pod: unknown): ReadonlySet<string> => {
  const found = new Set<string>();
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) {
      for (const item of node) visit(item);
      return;
    }
    if (!isRecord(node)) return;
    for (const [field, inner] of Object.entries(node)) {
      if (MAP_FIELDS.has(field) && isRecord(inner) && typeof inner['name'] === 'string')
        found.add(inner['name']);
      visit(inner);
    }
  };
  visit(pod);
  return found;
};

/** volumes[].configMap, projected sources, envFrom[].configMapRef, env[].valueFrom.configMapKeyRef */
const MAP_FIELDS: ReadonlySet<string> = new Set(['configMap', 'configMapRef', 'configMapKeyRef']);

const withMark = (value: Fields, template: Fields, hash: string): Fields => {
  const metadata = isRecord(template['metadata']) ? template['metadata'] : {};
  const annotations = isRecord(metadata['annotations']) ? metadata['annotations'] : {};
  const marked = {
    ...template,
    metadata: { ...metadata, annotations: { ...annotations, [SITE_VALUES_MARK]: hash } },
  };
  return { ...value, spec: { ...(value['spec'] as Fields), template: marked } };
};
