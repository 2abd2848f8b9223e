import { isAlias, isMap, isScalar } from 'yaml';
import type { Place } from '#bundles/errors';
import type { Labels } from '../../model/model.ts';
import { blockText } from '../../model/yaml/block-text.ts';
import type { ParsedDocument } from '../../model/yaml/parse-documents.ts';
import {
  BAD,
  type Bad,
  childOf,
  fields,
  objectName,
  optional,
  placed,
  type Reading,
  record,
  required,
  type Shape,
  shape,
  text,
  withSchema,
} from '../../model/yaml/shape.ts';
import type { KindReader } from './kalypso-kinds.ts';
import { ignored, metadata } from './metadata.ts';
import type { ConfigMapData, PlatformObject } from './platform-object.ts';
import { selectorLabels } from './selector-labels.ts';
import { textPlaces } from './text-places.ts';

/** A value with its place, and the places of the keys in a literal block of YAML. */
const configText: Shape<ConfigMapData[string]> = shape(
  () => text.schema,
  (node, path, reading) => {
    const read = placed(text)(node, path, reading);
    if (read === BAD || !isScalar(node) || node.type !== 'BLOCK_LITERAL') return read;
    const block = blockText(node, path, reading);
    const inside = block === BAD ? [] : textPlaces(block);
    return inside.length === 0 ? read : { ...read, inside };
  },
);

/** Name prefix of ConfigMaps that select by their keys (behaviour.md 2.4). */
export const AZURE_PREFIX = 'azure-app-config';

const configMap = fields({
  apiVersion: ignored,
  kind: ignored,
  metadata: required(
    metadata(objectName),
    `The label \`platform-config: "true"\`, or a name that begins with \`${AZURE_PREFIX}\`, makes it configuration of the platform. The other labels select what it applies to.`,
  ),
  data: optional(
    record(configText),
    {},
    'The values, as text. Text that is a YAML list or mapping is read as that, and mappings are merged.',
  ),
  binaryData: ignored,
  immutable: ignored,
});

/** Whether this ConfigMap is platform configuration. Others are ignored. */
export const isPlatformConfigMap = (document: ParsedDocument): boolean => {
  const about = childOf(document.root, 'metadata');
  if (!isMap(about)) return false;
  const name = childOf(about, 'name');
  if (isScalar(name) && String(name.value).startsWith(AZURE_PREFIX)) return true;
  const written = childOf(about, 'labels');
  const labels = isAlias(written) ? written.resolve(document.document) : written;
  const label = isMap(labels) ? childOf(labels, 'platform-config') : null;
  // An unquoted true is accepted here, so that the strict reading reports it.
  return isScalar(label) && String(label.value) === 'true';
};

const readOne = (reading: Reading, at: Place): PlatformObject | Bad => {
  const read = configMap(reading.parsed.root, '', reading);
  if (read === BAD) return BAD;
  return { kind: 'ConfigMap', name: read.metadata.name, at, labels: read.metadata.labels, data: read.data };
};

export const readConfigMap: KindReader = withSchema(readOne, () => ({
  description: 'One layer of configuration, of Kalypso. All other ConfigMaps are passed over.',
  ...configMap.schema,
}));

/** A key of such a ConfigMap: `label1.value1.label2.value2.name`. */
export type AzureKey = {
  readonly name: string;
  readonly selector: Labels;
  /** The label without a value, which selects nothing: `odd` in `odd.name`. */
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
