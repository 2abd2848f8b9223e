import type { Place } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Manifest } from '../imported.ts';
import { parseText } from './parse-text.ts';

/** As Helm lays values over each other: mappings key by key, all else replaced. A null stays, so that it removes a chart's default. */
export const mergeValues = (below: Manifest, above: Manifest): Manifest => {
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const old = merged[key];
    merged[key] = isRecord(old) && isRecord(value) ? mergeValues(old, value) : value;
  }
  return merged;
};

/**
 * The values of a file or of text; none where it is not a mapping.
 * @throws FleetError CONFIG_INVALID
 */
export const parseValues = (text: string | Buffer, at: Place): Manifest => {
  const read = parseText(text, at);
  return isRecord(read) ? read : {};
};

/** Sets one value by Helm's path (`a.b[0].c`, `a\.b`). @returns undefined for a path that is not one */
export const setValue = (values: Manifest, path: string, value: unknown): Manifest | undefined => {
  const keys = keysOf(path);
  if (keys === undefined || keys.length === 0) return undefined;
  const put = (inner: unknown, rest: readonly (string | number)[]): unknown => {
    const [key, ...more] = rest;
    if (key === undefined) return value;
    if (typeof key === 'number') {
      const list = Array.isArray(inner) ? [...inner] : [];
      while (list.length < key) list.push(null);
      list[key] = put(list[key], more);
      return list;
    }
    const record = isRecord(inner) ? inner : {};
    return { ...record, [key]: put(record[key], more) };
  };
  return put(values, keys) as Manifest;
};

const keysOf = (path: string): readonly (string | number)[] | undefined => {
  const keys: (string | number)[] = [];
  const rest = /((?:\\.|[^.[\]\\])+)|\[(\d{1,4})\]|(\.)|([\s\S])/g;
  for (const [, name, index, dot, other] of path.matchAll(rest)) {
    if (other !== undefined) return undefined;
    if (name !== undefined) keys.push(name.replaceAll(/\\(.)/g, '$1'));
    else if (index !== undefined) keys.push(Number(index));
    else if (dot === undefined) return undefined;
  }
  return keys;
};

/** A value as `--set` reads its text. */
export const typedText = (text: string): unknown => {
  if (text === 'true' || text === 'false') return text === 'true';
  if (text === 'null') return null;
  return /^-?(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
};
