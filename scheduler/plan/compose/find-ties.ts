import { isSameJson } from '#bundles/json/is-same-json';
import type { Place } from '#bundles/errors';
import { labelCount } from '../../model/label-count.ts';
import type { ConfigValue, SiteLayer } from '../../model/model.ts';
import { entriesOf, isList, isMapping, plainValue, type AnyMapping } from '../../model/plain-value.ts';
import { placeOfValue } from './explain-config.ts';
import type { Path } from './merge.ts';

/** Two layers that set one value otherwise, of which neither has more labels. */
export type LayerTie = {
  readonly layers: readonly [TiedLayer, TiedLayer];
  /** Keys of the value from the root. */
  readonly path: Path;
  /** The number of labels of both. */
  readonly labels: number;
};

export type TiedLayer = { readonly name: string; readonly at: Place };

/**
 * Ties among layers that select the same agent, in ascending precedence. Equal values are no tie, nor is a value that a layer with more
 * labels replaces.
 */
export const findTies = (layers: readonly SiteLayer[]): readonly LayerTie[] =>
  layers.flatMap((first, index) => {
    const labels = labelCount(first);
    return layers.slice(index + 1).flatMap((second) => {
      if (second.from !== first.from || labelCount(second) !== labels) return [];
      const above = layers.filter((one) =>
        one.from !== first.from ? one.from === 'environment' : labelCount(one) > labels,
      );
      const paths = conflicts(first.values, second.values, []).filter(
        ({ path, merges }) => !above.some(({ values }) => replaces(values, path, merges)),
      );
      return paths.map(({ path }) => ({
        layers: [tied(first, path), tied(second, path)] as const,
        path,
        labels,
      }));
    });
  });

const tied = (layer: SiteLayer, path: Path): TiedLayer => ({
  name: layer.name,
  at: placeOfValue(layer, path.map(String)),
});

type Conflict = {
  readonly path: Path;
  /** The kind of value that a higher one of the same kind is merged into, instead of replacing it. */
  readonly merges: 'list' | 'mapping' | undefined;
};

const conflicts = (a: ConfigValue, b: ConfigValue, path: Path): readonly Conflict[] => {
  if (isMapping(a) && isMapping(b)) {
    const other = new Map(entriesOf(b));
    return entriesOf(a).flatMap(([key, value]) => {
      const theirs = other.get(key);
      return theirs === undefined ? [] : conflicts(value, theirs, [...path, key]);
    });
  }
  if (isSameJson(plainValue(a), plainValue(b))) return [];
  const [lists, mappings] = [isList(a) || isList(b), isMapping(a) || isMapping(b)];
  if (lists) return [{ path, merges: 'list' }];
  return [{ path, merges: mappings ? 'mapping' : undefined }];
};

/** Whether a layer with more labels replaces the value at a path, whichever of the tied ones is below it. */
const replaces = (values: ConfigValue, path: Path, merges: Conflict['merges']): boolean => {
  let value: ConfigValue | undefined = values;
  for (const key of path) {
    if (!isMapping(value)) return value !== undefined;
    value = valueAt(value, key);
    if (value === undefined) return false;
  }
  if (isList(value)) return merges !== 'list';
  return isMapping(value) ? merges !== 'mapping' : true;
};

const valueAt = (mapping: AnyMapping, key: ConfigValue): ConfigValue | undefined =>
  new Map(entriesOf(mapping)).get(key);
