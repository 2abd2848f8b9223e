import { compareBytes } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import type { ConfigLayer, ConfigValue } from '../../model/model.ts';
import { placeKey } from '../../load/objects/field-places.ts';
import { type ConfigMapping, entriesOf, isList, isMapping, keyText } from '../../model/plain-value.ts';
import { merge, type Path } from './merge.ts';

/** One layer's value at a path, and its place. */
export type ConfigSetting<L extends ConfigLayer = ConfigLayer> = {
  readonly layer: L;
  readonly at: Place;
  readonly value: ConfigValue;
};

/** The origin of one value in a composed configuration. */
export type ConfigOrigin<L extends ConfigLayer = ConfigLayer> = ConfigSetting<L> & {
  /** Keys and indexes as text, from the root. */
  readonly path: readonly string[];
  /** The values it replaced, latest first. */
  readonly overrode: readonly ConfigSetting<L>[];
};

/**
 * For every scalar (and empty mapping or list) in the composition of these layers: the layer it comes from, its place, and
 * the values it replaced. Sorted by path.
 */
export const explainConfig = <L extends ConfigLayer>(layers: readonly L[]): readonly ConfigOrigin<L>[] => {
  const origins = new Map<string, ConfigOrigin<L>>();
  let values: ConfigMapping = {};
  for (const layer of layers) {
    values = merge(values, layer.values, (path, value) => {
      const overrode = takeUnder(origins, path.map(keyText));
      for (const leaf of leaves(path, value)) {
        const inside = leaf.path.map(keyText);
        const origin = { path: inside, layer, at: placeOfValue(layer, inside), value: leaf.value, overrode };
        origins.set(pathKey(origin.path), origin);
      }
    }) as ConfigMapping;
  }
  return [...origins.values()].toSorted((a, b) => compareBytes(pathKey(a.path), pathKey(b.path)));
};

/** The nearest known place: of the value, or of a mapping or list that contains it. */
export const placeOfValue = (layer: Pick<ConfigLayer, 'places' | 'at'>, path: readonly string[]): Place => {
  for (let length = path.length; length > 0; length -= 1) {
    const at = layer.places[placeKey(path.slice(0, length))];
    if (at) return at;
  }
  return layer.at;
};

/** The origin of the value at a path, or of a value that contains it. */
export const originOf = (
  origins: readonly ConfigOrigin[],
  path: readonly string[],
): ConfigOrigin | undefined =>
  origins.find((origin) => isAtOrBelow(origin.path, path)) ??
  origins.find((origin) => isAtOrBelow(path, origin.path));

const pathKey = (path: readonly string[]): string => path.join('\0');

/** Whether `path` is at or below `top`. */
const isAtOrBelow = (path: readonly string[], top: readonly string[]): boolean =>
  top.every((part, at) => path[at] === part);

/** Removes and returns the origins that a new value replaces: at or below the path, and a scalar above it. */
const takeUnder = <L extends ConfigLayer>(
  origins: Map<string, ConfigOrigin<L>>,
  path: readonly string[],
): readonly ConfigSetting<L>[] => {
  const gone = [...origins.values()].filter(
    (one) => isAtOrBelow(one.path, path) || isAtOrBelow(path, one.path),
  );
  for (const one of gone) origins.delete(pathKey(one.path));
  return gone.flatMap(({ layer, at, value, overrode }) => [{ layer, at, value }, ...overrode]);
};

const leaves = (path: Path, value: ConfigValue): readonly { path: Path; value: ConfigValue }[] => {
  const inner = innerOf(value);
  if (inner.length === 0) return [{ path, value }];
  return inner.flatMap(([key, item]) => leaves([...path, key], item));
};

const innerOf = (value: ConfigValue): readonly (readonly [ConfigValue, ConfigValue])[] => {
  if (isList(value)) return value.map((item, at) => [at, item] as const);
  return isMapping(value) ? entriesOf(value) : [];
};
