import { isUtf8 } from 'node:buffer';
import { type Document, parseAllDocuments, visit } from 'yaml';
import { digestOf, shortDigest } from '../digest.ts';

/** One thing that is compared: an object of a file, or a file that is made of none. */
export type Item = {
  /** What it is matched by: 'Deployment.apps shop/web', or the file's path. */
  readonly key: string;
  readonly file: string;
  /** Undefined for plain text. */
  readonly object: KubernetesObject | undefined;
  readonly text: string;
};

export type KubernetesObject = { readonly [field: string]: unknown };

/** All objects of a package's files by identity: where in which file one stands does not count. */
export const readItems = (files: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Item> => {
  const items = new Map<string, Item>();
  for (const [path, bytes] of files) {
    for (const item of itemsOf(path, bytes)) {
      let { key } = item;
      for (let count = 2; items.has(key); count += 1) key = `${item.key} (${count})`;
      items.set(key, { ...item, key });
    }
  }
  return items;
};

const itemsOf = (path: string, bytes: Buffer): readonly Item[] => {
  if (!isUtf8(bytes) || bytes.includes(0))
    return [asText(path, `binary, ${bytes.length} bytes, ${shortDigest(digestOf(bytes))}\n`)];
  const text = bytes.toString('utf8');
  const objects = /\.ya?ml$/.test(path) ? objectsOf(text) : undefined;
  if (!objects) return [asText(path, text)];
  return objects.map((object) => ({ key: identityOf(object), file: path, object, text: '' }));
};

const asText = (path: string, text: string): Item => ({ key: path, file: path, object: undefined, text });

/** What is shown says everything that an alias stands for once more, up to a hundred times. */
const MAX_ALIASED = 256 << 10;

const hasAlias = (document: Document): boolean => {
  let found = false;
  visit(document, {
    Alias: () => {
      found = true;
      return visit.BREAK;
    },
  });
  return found;
};

/** The objects of a file in which every document is one; undefined for any other YAML. */
const objectsOf = (text: string): readonly KubernetesObject[] | undefined => {
  try {
    const documents = parseAllDocuments(text, { uniqueKeys: false, intAsBigInt: true, logLevel: 'silent' });
    if (text.length > MAX_ALIASED && documents.some(hasAlias)) return undefined;
    const values: unknown[] = [];
    for (const document of documents) {
      if (document.errors.length > 0) return undefined;
      const value: unknown = document.toJS({ maxAliasCount: 100 });
      if (value !== null) values.push(value);
    }
    const objects = values.flatMap(itemsOfList);
    return objects.length > 0 && objects.every(isObject) ? objects : undefined;
  } catch {
    // Aliases without end: the text says what there is to say.
    return undefined;
  }
};

const itemsOfList = (value: unknown): readonly unknown[] => {
  const { kind, items } = (value ?? {}) as Record<string, unknown>;
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : [value];
};

const isObject = (value: unknown): value is KubernetesObject => {
  const { kind, apiVersion, metadata } = (value ?? {}) as Record<string, unknown>;
  const { name, generateName } = (metadata ?? {}) as Record<string, unknown>;
  return (
    typeof kind === 'string' && typeof apiVersion === 'string' && typeof (name ?? generateName) === 'string'
  );
};

/** Kind, group, namespace and name, as an API server tells objects apart. */
const identityOf = (object: KubernetesObject): string => {
  const [group] = String(object['apiVersion']).includes('/') ? String(object['apiVersion']).split('/') : [''];
  const { namespace, name, generateName } = object['metadata'] as Record<string, unknown>;
  const place = typeof namespace === 'string' && namespace !== '' ? `${namespace}/` : '';
  return `${String(object['kind'])}${group ? `.${group}` : ''} ${place}${String(name ?? generateName)}`;
};
