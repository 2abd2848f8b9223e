import { isMap, LineCounter } from 'yaml';
import { isRecord } from '#bundles/is-record';
import type { Place } from '#bundles/errors';
import type { Manifest, ObjectAnnotation } from '../imported.ts';
import { parseTexts, placeOf } from './parse-text.ts';

/** An object of a file, and where it begins. */
export type PlacedManifest = { readonly value: Manifest; readonly at: Place; readonly path: string };

/**
 * The mappings among the documents of a YAML file, lists of objects as their items. A file that is not YAML has none.
 * @param like options of the parser: those of Kustomize unless the caller gives LIKE_HELM, to which `yes` is true
 */
export const readManifests = (
  path: string,
  shown: string,
  bytes: Buffer,
  like?: Parameters<typeof parseTexts>[2],
): readonly PlacedManifest[] => {
  const lineCounter = new LineCounter();
  return parseTexts(bytes.toString('utf8'), lineCounter, like).flatMap(
    ({ document: { contents }, value }) => {
      if (!isMap(contents)) return [];
      const at = placeOf(contents.range?.[0] ?? 0, lineCounter, shown);
      return itemsOf(value).map((one) => ({ value: one, at, path }));
    },
  );
};

const itemsOf = (value: unknown): readonly Manifest[] => {
  if (!isRecord(value)) return [];
  const { kind, items } = value;
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items)
    ? items.filter(isRecord)
    : [value];
};

export const isYamlFile = (path: string): boolean => /\.ya?ml$/.test(path);

export const textAt = (value: unknown, ...path: readonly string[]): string | undefined => {
  const found = valueAt(value, ...path);
  return typeof found === 'string' ? found : undefined;
};

export const valueAt = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (isRecord(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
    value,
  );

export const recordAt = (value: unknown, ...path: readonly string[]): Manifest => {
  const found = valueAt(value, ...path);
  return isRecord(found) ? found : {};
};

export const listAt = (value: unknown, ...path: readonly string[]): readonly unknown[] => {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
};

/** The scalars of a mapping as text. */
export const textsAt = (value: unknown, ...path: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(recordAt(value, ...path)).flatMap(([key, one]) =>
      typeof one === 'string' || typeof one === 'number' || typeof one === 'boolean'
        ? [[key, String(one)]]
        : [],
    ),
  );

export const groupOf = (value: Manifest): string => {
  const version = textAt(value, 'apiVersion') ?? '';
  return version.includes('/') ? (version.split('/')[0] ?? '') : '';
};

export const kindOf = (value: Manifest): string => textAt(value, 'kind') ?? '';
/** `group/Kind`, as kustomize targets name it. */
export const groupKind = (value: Manifest): string => `${groupOf(value)}/${kindOf(value)}`;
export const nameOf = (value: Manifest): string => textAt(value, 'metadata', 'name') ?? '';
export const namespaceOf = (value: Manifest): string | undefined => textAt(value, 'metadata', 'namespace');

/** An object as Kubernetes sees one, and not only YAML. */
export const isObject = (value: Manifest): boolean =>
  textAt(value, 'apiVersion') !== undefined && kindOf(value) !== '' && nameOf(value) !== '';

/** The same annotations of ours for all objects of a unit: a rule for each kind. */
export const annotateAll = (
  objects: readonly Manifest[],
  set: ObjectAnnotation['set'],
): readonly ObjectAnnotation[] =>
  [...new Set(objects.map(kindOf))].toSorted().map((kind) => ({ kind, name: '*', set }));
