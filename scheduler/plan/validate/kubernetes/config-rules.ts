import type { Node } from 'yaml';
import { isMapping, pairsOf, valueOf, type Finding, type Walk } from './walk.ts';

/** Kubernetes' IsConfigMapKey. */
const KEY = /^(?!\.$|\.\.)[-._a-zA-Z0-9]{1,253}$/;

/** Fields of which each key is the name of a file. `stringData` may have a key of `data`, and replaces it; `binaryData` may not. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  ConfigMap: ['data', 'binaryData'],
  Secret: ['data', 'stringData'],
};

/** Rules of the server that types do not express: the form of the keys of a ConfigMap and a Secret, and each key of a ConfigMap once. */
export const judgeKeys = (apiVersion: string, kind: string, walk: Walk): readonly Finding[] => {
  const fields = apiVersion === 'v1' ? (FIELDS[kind] ?? []) : [];
  const keys = fields.flatMap((field) => {
    const map = valueOf((walk.document.get(field, true) ?? null) as Node | null, walk);
    return isMapping(map) ? pairsOf(map).map(([key, , node]) => ({ field, key, node })) : [];
  });
  const inData = new Set(keys.flatMap(({ field, key }) => (field === 'data' ? [key] : [])));
  return keys.flatMap(({ field, key, node }) => {
    if (!KEY.test(key))
      return [
        {
          path: field,
          node,
          says: `has the key ${JSON.stringify(key)}: a key has up to 253 letters, digits, '-', '_' and '.', is not '.' and does not begin with '..'`,
        },
      ];
    const isTwice = field === 'binaryData' && inData.has(key);
    return isTwice
      ? [{ path: field, node, says: `has the key ${key}, which data has, too`, hint: TWICE }]
      : [];
  });
};

const TWICE =
  'Give one of them another name. Kustomize leaves both where an overlay merges text over a binary file, or a binary file over text';
