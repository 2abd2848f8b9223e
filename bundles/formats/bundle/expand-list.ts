import { isRecord } from '../../is-record.ts';

type Fields = { readonly [field: string]: unknown };

/** The objects of a `List`, nested lists included; any other object alone. Items of a ConfigMapList may lack apiVersion and kind; items of a List must have them. */
export const expandList = (value: Fields): readonly Fields[] => {
  const { kind, items, apiVersion } = value;
  const isList = typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items);
  if (!isList || !isRecord(items[0] ?? {})) return [value];
  const itemKind = kind.slice(0, -'List'.length);
  return items
    .filter(isRecord)
    .flatMap((item) => expandList({ ...(itemKind === '' ? {} : { apiVersion, kind: itemKind }), ...item }));
};
