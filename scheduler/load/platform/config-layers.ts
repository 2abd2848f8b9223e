import { isMap, isSeq, LineCounter, parseAllDocuments } from 'yaml';
import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import { isSpace } from '../../model/go/letter-case.ts';
import { trimWhile } from '../../model/go/trim.ts';
import type { ConfigLayer, ConfigValue, PlatformForm, Value } from '../../model/model.ts';
import { AZURE_PREFIX, readAzureKey } from '../objects/config-map.ts';
import { placeKey } from '../objects/field-places.ts';
import { type ObjectOf, ofKind, type PlatformObject } from '../objects/platform-object.ts';
import { selectorLabels } from '../objects/selector-labels.ts';
import { isReadDifferently, parseYaml11Collection } from '../../model/yaml/yaml-1-1-value.ts';
import { coreValue } from '../../model/yaml/free-value.ts';
import { BAD } from '../../model/yaml/shape.ts';

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
    if (config) {
      const { advice: remark, siteSelector, ...layer } = config.config;
      if (remark && !advice.some(({ code, at }) => code === remark.code && at?.file === remark.at?.file))
        advice.push(remark);
      // One with a siteSelector is in no bundle.
      if (!siteSelector) layers.push({ name: config.name, ...layer, from, at: config.at });
    }
    const [map] = ofKind([object], 'ConfigMap');
    if (!map) continue;
    const isLabelled = map.labels['platform-config'] === 'true';
    const isAzure = form === 'kalypso' && map.name.startsWith(AZURE_PREFIX);
    if (isAzure || (form === 'kalypso' && isLabelled)) advice.push(...ambiguousValues(map));
    if (isAzure) azure.push(...azureLayers(map, from, advice));
    // A ConfigMap with the name prefix and the label gives both layers: one with its keys unchanged, and one for each key's
    // selector.
    if (isLabelled) layers.push(configMapLayer(form, map, from));
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
    places: Object.fromEntries(data.flatMap(([key, value]) => placesOf(key, value))),
    from,
    at: map.at,
  };
};

/** Places of a key, and of the keys in its value. */
const placesOf = (
  key: string,
  { at, inside = [] }: ObjectOf<'ConfigMap'>['data'][string],
): readonly (readonly [string, Place])[] => [
  [key, at],
  ...inside.map(({ path, at: place }) => [placeKey([key, ...path]), place] as const),
];

/** Warns of values that Kalypso may parse differently. */
const ambiguousValues = (map: ObjectOf<'ConfigMap'>): readonly FleetError[] =>
  Object.entries(map.data).flatMap(([key, { value, at }]) =>
    isReadDifferently(value)
      ? [
          new FleetError(
            'FIELD_INVALID',
            `the value of ${key} begins as a YAML list or mapping and has an error; Kalypso may read another part of it`,
            {
              subject: `ConfigMap ${map.name}`,
              at,
              hint: 'Put the value into single quotes within the value if it is text, or correct the YAML',
            },
          ),
        ]
      : [],
  );

/** behaviour.md 2.4, "Value typing". */
export const typeKalypsoValue = (text: string): ConfigValue => {
  const trimmed = trimWhile(text, isSpace);
  // All quotes at both ends are removed: ''a'' is a, and a single ' is empty.
  if (trimmed.startsWith("'") && trimmed.endsWith("'"))
    return trimWhile(trimmed, (character) => character === "'");
  return parseYaml11Collection(text) ?? text;
};

/** In our form a ConfigMap's value is text unless it is a YAML 1.2 mapping or list. */
export const typeFleetValue = (text: string): ConfigValue => parseYaml12Collection(text) ?? text;

type AzureLayer = { readonly key: string; readonly layer: ConfigLayer };

/** behaviour.md 2.4: ascending key length. Kalypso leaves ties undefined; here the key and then the object's name decide. */
const byKeyLength = (a: AzureLayer, b: AzureLayer): number =>
  Buffer.byteLength(a.key) - Buffer.byteLength(b.key) ||
  compareBytes(a.key, b.key) ||
  compareBytes(a.layer.name, b.layer.name);

/** Each key `label1.value1.label2.value2.name` is a layer with its own selector. */
const azureLayers = (map: ObjectOf<'ConfigMap'>, from: From, advice: FleetError[]): readonly AzureLayer[] =>
  Object.entries(map.data).map(([key, { value, at, inside }]) => {
    const { name, selector, stray } = readAzureKey(key);
    if (stray !== undefined) {
      advice.push(
        new FleetError(
          'FIELD_INVALID',
          `in the key ${key} the label ${stray} has no value, and selects nothing`,
          {
            subject: `ConfigMap ${map.name}`,
            at,
            hint: 'Write it like label.value.name',
          },
        ),
      );
    }
    const values = Object.fromEntries([[name, typeKalypsoValue(value)]]);
    const places = Object.fromEntries(placesOf(name, defined({ value, at, inside })));
    return { key, layer: { name: map.name, selector, values, places, from, at: map.at } };
  });

/** The value of a text that is one YAML 1.2 mapping or list; undefined for any other text, which then stays text. */
const parseYaml12Collection = (text: string): Value | undefined => {
  try {
    const options = { intAsBigInt: true, prettyErrors: false, logLevel: 'silent' } as const;
    const documents = parseAllDocuments(text, options);
    const [document] = Array.isArray(documents) ? documents : [];
    if (!document || documents.length > 1 || document.errors.length > 0) return undefined;
    const root = document.contents;
    if (!isMap(root) && !isSeq(root)) return undefined;
    const problems: FleetError[] = [];
    const parsed = { root, document, text: { file: '', text, lines: new LineCounter() } };
    const value = coreValue(root, 'the value', { parsed, subject: '', problems });
    return value === BAD ? undefined : value;
  } catch {
    return undefined;
  }
};
