import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { ConfigLayer, ConfigValue, Labels, PlatformForm } from './model.ts';
import { AZURE_PREFIX } from './objects/config-map.ts';
import { type ObjectOf, ofKind, type PlatformObject } from './objects/platform-object.ts';
import { selectorLabels } from './objects/selector-labels.ts';
import { parseYaml11Collection } from './yaml/yaml-1-1-value.ts';
import { parseYaml12Collection } from './yaml/yaml-1-2-value.ts';

type From = ConfigLayer['from'];
export type Placed = { readonly object: PlatformObject; readonly from: From };

/** All configuration of an environment in ascending precedence: a later layer overrides an earlier one. */
export const orderLayers = (
  form: PlatformForm,
  objects: readonly Placed[],
  advice: FleetError[],
): readonly ConfigLayer[] => {
  const layers: ConfigLayer[] = [];
  const azure: AzureLayer[] = [];
  for (const { object, from } of objects) {
    const [config] = ofKind([object], 'Config');
    if (config) layers.push({ name: config.name, ...config.config, from, at: config.at });
    const [map] = ofKind([object], 'ConfigMap');
    if (!map) continue;
    if (form === 'kalypso' && map.name.startsWith(AZURE_PREFIX))
      azure.push(...azureLayers(map, from, advice));
    else if (map.labels['platform-config'] === 'true') layers.push(configMapLayer(form, map, from));
  }
  switch (form) {
    case 'kalypso':
      return [
        ...layers.toSorted((a, b) => compareBytes(a.name, b.name)),
        ...azure.toSorted(byKeyLength).map((one) => one.layer),
      ];
    case 'fleet':
      return layers.toSorted(bySpecificity);
  }
};

/** Base before environment, then fewer selecting labels before more, then by name. */
const bySpecificity = (a: ConfigLayer, b: ConfigLayer): number => {
  if (a.from !== b.from) return a.from === 'base' ? -1 : 1;
  const fewer = Object.keys(a.selector).length - Object.keys(b.selector).length;
  return fewer === 0 ? compareBytes(a.name, b.name) : fewer;
};

const configMapLayer = (form: PlatformForm, map: ObjectOf<'ConfigMap'>, from: From): ConfigLayer => {
  const type = form === 'kalypso' ? typeKalypsoValue : typeFleetValue;
  const data = Object.entries(map.data);
  return {
    name: map.name,
    selector: selectorLabels(map.labels),
    values: Object.fromEntries(data.map(([key, { value }]) => [key, type(value)])),
    places: Object.fromEntries(data.map(([key, { at }]) => [key, at])),
    from,
    at: map.at,
  };
};

/** behaviour.md 2.4, "Value typing". */
const typeKalypsoValue = (text: string): ConfigValue => {
  const trimmed = text.trim();
  if (trimmed.length >= 2 && trimmed.startsWith("'") && trimmed.endsWith("'")) return trimmed.slice(1, -1);
  return parseYaml11Collection(text) ?? text;
};

/** In our form a ConfigMap's value is text unless it is a YAML 1.2 mapping or list. */
const typeFleetValue = (text: string): ConfigValue => parseYaml12Collection(text) ?? text;

type AzureLayer = { readonly key: string; readonly layer: ConfigLayer };

/** behaviour.md 2.4: ascending key length. Kalypso leaves ties to chance; here the key and the object decide. */
const byKeyLength = (a: AzureLayer, b: AzureLayer): number =>
  Buffer.byteLength(a.key) - Buffer.byteLength(b.key) ||
  compareBytes(a.key, b.key) ||
  compareBytes(a.layer.name, b.layer.name);

/** Each key `label1.value1.label2.value2.name` selects for itself. */
const azureLayers = (map: ObjectOf<'ConfigMap'>, from: From, advice: FleetError[]): readonly AzureLayer[] =>
  Object.entries(map.data).flatMap(([key, { value, at }]) => {
    const parts = key.split('.');
    const name = parts.at(-1) as string;
    if (parts.length % 2 === 0) {
      advice.push(
        new FleetError('FIELD_INVALID', `the key ${key} is passed over: its labels and values do not pair`, {
          subject: `ConfigMap ${map.name}`,
          at,
          hint: 'Write it like label.value.name',
        }),
      );
      return [];
    }
    const pairs: [string, string][] = [];
    for (let index = 0; index + 1 < parts.length; index += 2)
      pairs.push([parts[index] as string, parts[index + 1] as string]);
    const selector: Labels = Object.fromEntries(pairs);
    const values = Object.fromEntries([[name, typeKalypsoValue(value)]]);
    return [
      {
        key,
        layer: {
          name: map.name,
          selector,
          values,
          places: Object.fromEntries([[name, at]]),
          from,
          at: map.at,
        },
      },
    ];
  });
