import { isMap, isScalar } from 'yaml';
import type { ParsedDocument } from '../yaml/parse-documents.ts';
import { BAD, childOf, fields, objectName, optional, placed, record, required, text } from '../yaml/shape.ts';
import type { KindReader } from './kalypso-kinds.ts';
import { ignored, metadata } from './metadata.ts';

/** ConfigMaps whose name begins so select by their keys (behaviour.md 2.4). */
export const AZURE_PREFIX = 'azure-app-config';

const shape = fields({
  apiVersion: ignored,
  kind: ignored,
  metadata: required(metadata(objectName)),
  data: optional(record(placed(text)), {}),
  binaryData: ignored,
  immutable: ignored,
});

/** Is this ConfigMap meant for the platform? All others are somebody else's, and not looked at. */
export const isPlatformConfigMap = (document: ParsedDocument): boolean => {
  const about = childOf(document.root, 'metadata');
  if (!isMap(about)) return false;
  const name = childOf(about, 'name');
  if (isScalar(name) && String(name.value).startsWith(AZURE_PREFIX)) return true;
  const labels = childOf(about, 'labels');
  const label = isMap(labels) ? childOf(labels, 'platform-config') : null;
  // An unquoted true is a mistake that the strict reading then names.
  return isScalar(label) && String(label.value) === 'true';
};

export const readConfigMap: KindReader = (reading, at) => {
  const read = shape(reading.parsed.root, '', reading);
  if (read === BAD) return BAD;
  return { kind: 'ConfigMap', name: read.metadata.name, at, labels: read.metadata.labels, data: read.data };
};
