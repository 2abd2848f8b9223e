import { isAlias, isMap, isScalar } from 'yaml';
import type { Labels } from '../model.ts';
import { blockText } from '../yaml/block-text.ts';
import type { ParsedDocument } from '../yaml/parse-documents.ts';
import {
  BAD,
  childOf,
  fields,
  objectName,
  optional,
  placed,
  record,
  required,
  type Shape,
  text,
} from '../yaml/shape.ts';
import type { KindReader } from './kalypso-kinds.ts';
import { ignored, metadata } from './metadata.ts';
import type { ConfigMapData } from './platform-object.ts';
import { selectorLabels } from './selector-labels.ts';
import { textPlaces } from './text-places.ts';

/** A value with its place, and the places of what a literal block of YAML has in it. */
const configText: Shape<ConfigMapData[string]> = (node, path, reading) => {
  const read = placed(text)(node, path, reading);
  if (read === BAD || !isScalar(node) || node.type !== 'BLOCK_LITERAL') return read;
  const block = blockText(node, path, reading);
  const inside = block === BAD ? [] : textPlaces(block);
  return inside.length === 0 ? read : { ...read, inside };
};

/** ConfigMaps whose name begins so select by their keys (behaviour.md 2.4). */
export const AZURE_PREFIX = 'azure-app-config';

const shape = fields({
  apiVersion: ignored,
  kind: ignored,
  metadata: required(metadata(objectName)),
  data: optional(record(configText), {}),
  binaryData: ignored,
  immutable: ignored,
});

/** Is this ConfigMap meant for the platform? All others are somebody else's, and not looked at. */
export const isPlatformConfigMap = (document: ParsedDocument): boolean => {
  const about = childOf(document.root, 'metadata');
  if (!isMap(about)) return false;
  const name = childOf(about, 'name');
  if (isScalar(name) && String(name.value).startsWith(AZURE_PREFIX)) return true;
  const written = childOf(about, 'labels');
  const labels = isAlias(written) ? written.resolve(document.document) : written;
  const label = isMap(labels) ? childOf(labels, 'platform-config') : null;
  // An unquoted true is a mistake that the strict reading then names.
  return isScalar(label) && String(label.value) === 'true';
};

export const readConfigMap: KindReader = (reading, at) => {
  const read = shape(reading.parsed.root, '', reading);
  if (read === BAD) return BAD;
  return { kind: 'ConfigMap', name: read.metadata.name, at, labels: read.metadata.labels, data: read.data };
};

/** A key of such a ConfigMap: `label1.value1.label2.value2.name`. */
export type AzureKey = {
  readonly name: string;
  readonly selector: Labels;
  /** The label that has no value, and says nothing: `odd` of `odd.name`. */
  readonly stray: string | undefined;
};

export const readAzureKey = (key: string): AzureKey => {
  const parts = key.split('.');
  const pairs: [string, string][] = [];
  for (let at = 0; at + 2 < parts.length; at += 2) pairs.push([parts[at] as string, parts[at + 1] as string]);
  return {
    name: parts.at(-1) as string,
    selector: selectorLabels(Object.fromEntries(pairs)),
    stray: parts.length % 2 === 0 ? parts.at(-2) : undefined,
  };
};
