import { isUtf8 } from 'node:buffer';
import { digestOf, shortDigest } from '../../digest.ts';
import { isRecord } from '../../is-record.ts';
import { imagesIn } from './images-in.ts';
import { parseText } from './read-text.ts';
import { unshownFiles } from './unshown-files.ts';

/** Unit of comparison: an object in a file, or a file without objects. */
export type Item = {
  /** Identity: 'Deployment.apps shop/web', or the path of the file. */
  readonly key: string;
  readonly file: string;
  /** Undefined for plain text. */
  readonly object: KubernetesObject | undefined;
  readonly text: string;
  /** Why its text is not shown, only that it differs. */
  readonly unshown?: string;
};

export type KubernetesObject = { readonly [field: string]: unknown };

/** Items of files that were parsed before, by path and content. */
export type ParsedFiles = Map<string, readonly Item[]>;

/**
 * All objects in the files of a package by identity, independent of file and order.
 * @param parsed filled and used: packages of many cluster types have the same files
 */
export const readItems = (
  files: ReadonlyMap<string, Buffer>,
  parsed?: ParsedFiles,
): ReadonlyMap<string, Item> => {
  const unshown = unshownFiles(files);
  const items = new Map<string, Item>();
  for (const [path, bytes] of files) {
    const why = unshown.get(path);
    for (const item of why === undefined
      ? parsedOnce(path, bytes, parsed)
      : [withoutText(path, bytes, why)]) {
      let { key } = item;
      for (let count = 2; items.has(key); count += 1) key = `${item.key} (${count})`;
      items.set(key, { ...item, key });
    }
  }
  return items;
};

/** A name that YAML reads as text wherever it stands, so that another one in its place leaves the structure as it is. */
const PLAIN_NAME = /^[a-z][a-z0-9]*-[a-z0-9-]*$/;

/** Number and images of the items of files that do not differ. */
export type Summary = {
  /** Number of items. */
  readonly count: number;
  readonly images: readonly string[];
};

/**
 * Sums up a package that does not differ: packages of many cluster types have the same files but for the namespace, and are parsed once. The
 * objects are not kept.
 * @param known filled and used
 */
export const summariseItems = (
  files: ReadonlyMap<string, Buffer>,
  namespace: string | undefined,
  known: Map<string, Summary>,
): Summary => {
  const isShared = namespace !== undefined && PLAIN_NAME.test(namespace) && unshownFiles(files).size === 0;
  if (!isShared) return summaryOf([...readItems(files).values()]);
  const found = [...files].map(([path, bytes]) => {
    const key = `${path} ${digestOf(bytes.toString('latin1').replaceAll(namespace, '\0'))}`;
    const summary = known.get(key) ?? renamed(summaryOf(itemsOf(path, bytes)), namespace, '\0');
    known.set(key, summary);
    return renamed(summary, '\0', namespace);
  });
  return {
    count: found.reduce((sum, { count }) => sum + count, 0),
    images: found.flatMap(({ images }) => images),
  };
};

/** An image may have the namespace in its name. */
const renamed = ({ count, images }: Summary, from: string, to: string): Summary => ({
  count,
  images: images.map((image) => image.replaceAll(from, to)),
});

const summaryOf = (items: readonly Item[]): Summary => ({
  count: items.length,
  images: items.flatMap(({ object }) => imagesIn(object)),
});

const parsedOnce = (path: string, bytes: Buffer, parsed: ParsedFiles | undefined): readonly Item[] => {
  if (!parsed) return itemsOf(path, bytes);
  const key = `${path} ${digestOf(bytes)}`;
  const items = parsed.get(key) ?? itemsOf(path, bytes);
  parsed.set(key, items);
  return items;
};

const itemsOf = (path: string, bytes: Buffer): readonly Item[] => {
  if (!isUtf8(bytes) || bytes.includes(0))
    return [asText(path, `binary, ${bytes.length} bytes, ${shortDigest(digestOf(bytes))}\n`)];
  const text = bytes.toString('utf8');
  const objects = /\.(?:ya?ml|json)$/.test(path) ? objectsOf(text) : undefined;
  if (!objects) return [asText(path, text)];
  return objects.map((object) => ({ key: identityOf(object), file: path, object, text: '' }));
};

const asText = (path: string, text: string): Item => ({ key: path, file: path, object: undefined, text });

const withoutText = (path: string, bytes: Buffer, unshown: string): Item => ({
  ...asText(path, bytes.toString('latin1')),
  unshown,
});

/** The objects of a file in which every document is one; undefined for any other YAML. */
const objectsOf = (text: string): readonly KubernetesObject[] | undefined => {
  const objects = parseText(text)?.flatMap(itemsOfList) ?? [];
  return objects.length > 0 && objects.every(isObject) ? objects : undefined;
};

const itemsOfList = (value: unknown): readonly unknown[] => {
  const { kind, items } = (value ?? {}) as Record<string, unknown>;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [value];
  // The API server omits the kind of items in a list.
  return kind === 'SecretList' ? items.map((item: unknown) => asSecret(item)) : items;
};

const asSecret = (item: unknown): unknown =>
  isRecord(item) ? { apiVersion: 'v1', ...item, kind: 'Secret' } : item;

const isObject = (value: unknown): value is KubernetesObject => {
  const { kind, apiVersion, metadata } = (value ?? {}) as Record<string, unknown>;
  const { name, generateName } = (metadata ?? {}) as Record<string, unknown>;
  return (
    typeof kind === 'string' && typeof apiVersion === 'string' && typeof (name ?? generateName) === 'string'
  );
};

/** Kind, group, namespace and name, which identify an object in an API server. */
const identityOf = (object: KubernetesObject): string => {
  const [group] = String(object['apiVersion']).includes('/') ? String(object['apiVersion']).split('/') : [''];
  const { namespace, name, generateName } = object['metadata'] as Record<string, unknown>;
  const place = typeof namespace === 'string' && namespace !== '' ? `${namespace}/` : '';
  return `${String(object['kind'])}${group ? `.${group}` : ''} ${place}${String(name ?? generateName)}`;
};
