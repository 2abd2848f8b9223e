import { posix } from 'node:path';
import { type ChangedValue, changedValues } from '#bundles/formats/author-schema/changed-values';
import { asConfigMap, maskSecrets, PLATFORM_CONFIG } from '#bundles/formats/diff/mask-secrets';
import type { Item } from '#bundles/formats/diff/read-items';
import { parseText } from '#bundles/formats/diff/read-text';
import { isRecord } from '#bundles/is-record';
import type { Json } from '#bundles/json/canonical';

type Items = ReadonlyMap<string, Item>;

/**
 * Values of configuration that differ between two packages, sorted by name: keys of the platform's configuration, and '<ConfigMap>.<key>' of
 * others. Values that may be secrets are withheld.
 */
export const comparedValues = (before: Items, after: Items): readonly ChangedValue[] => {
  const [old, now] = [valuesOf(before, after, 'old'), valuesOf(before, after, 'new')];
  return changedValues(old, now);
};

const valuesOf = (before: Items, after: Items, side: 'old' | 'new'): Readonly<Record<string, Json>> =>
  Object.fromEntries(
    [...(side === 'old' ? before : after).keys()].flatMap((key) => {
      // Masked together: values of secrets that differ are marked.
      const masked = maskSecrets(contentOf(before.get(key)), contentOf(after.get(key)));
      return (masked[side === 'old' ? 0 : 1] ?? []).flatMap((content) => pairsOf(content));
    }),
  );

const contentOf = (item: Item | undefined): readonly unknown[] | undefined => {
  if (!item || item.unshown !== undefined) return undefined;
  if (item.object) return item.object['kind'] === 'ConfigMap' ? [item.object] : undefined;
  const { name } = posix.parse(item.file);
  return name === PLATFORM_CONFIG ? parseText(item.text)?.map(asConfigMap) : undefined;
};

const pairsOf = (content: unknown): readonly (readonly [string, Json])[] => {
  if (!isRecord(content)) return [];
  const { metadata, data } = content;
  if (!isRecord(data)) return [];
  const name = isRecord(metadata) ? String(metadata['name']) : '';
  const prefix = name === PLATFORM_CONFIG ? '' : `${name}.`;
  return Object.entries(data).map(([key, value]) => [`${prefix}${key}`, toJson(value)]);
};

/** YAML is read with whole numbers of any size. */
const toJson = (value: unknown): Json =>
  JSON.parse(
    JSON.stringify(value, (_, one: unknown) => (typeof one === 'bigint' ? Number(one) : one)) ?? 'null',
  ) as Json;
