import { defined } from '#bundles/defined';
import { isRecord } from '#bundles/is-record';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { ASSIGNMENT_MARK, FLEET_MARK } from '../desired/marks.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import { type FieldSet, isItemOf, isSameItem, memberOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** True if the package leaves fields of the object to others. */
export const leavesFields = ({ policy: { ignore } }: WantedObject): boolean =>
  ignore.pointers.length + ignore.managers.length > 0;

/**
 * The object to apply, without the fields that the package leaves to others: a field that another manager owns is left out, so that the two
 * do not own it together; one that nobody else owns gets its live value (checklist S6). Its hash stays that of the package's object.
 */
export const asIgnored = (wanted: WantedObject, live: LiveObject | undefined): WantedObject => {
  const { pointers, managers } = wanted.policy.ignore;
  if (!live || !leavesFields(wanted)) return wanted;
  const others = (live.metadata.managedFields ?? []).filter((entry) => !isOwnEntry(entry));
  let object: unknown = wanted.object;
  for (const { fieldsV1 = {} } of others.filter(({ manager = '' }) => managers.includes(manager)))
    object = withoutFields(object, fieldsV1);
  for (const pointer of pointers) {
    const tokens = tokensOf(pointer);
    const [found] = valueAt(live, tokens);
    const isTheirs = others.some((entry) => owns(entry, live, tokens));
    object = found === undefined || isTheirs ? removeAt(object, tokens) : setAt(object, tokens, found);
  }
  return { ...wanted, object: withIdentity(object as Partial<LiveObject>, wanted.object) };
};

/** Name, kind and owner marks are the agent's, whatever is left to others. */
const withIdentity = (
  { metadata: left, ...object }: Partial<LiveObject>,
  { apiVersion, kind, metadata }: LiveObject,
): LiveObject => {
  const { name, namespace, annotations = {} } = metadata;
  const marks = [FLEET_MARK, ASSIGNMENT_MARK].flatMap((key) => {
    const value = annotations[key];
    return value === undefined ? [] : [[key, value] as const];
  });
  const both = { ...left?.annotations, ...Object.fromEntries(marks) };
  const known = defined({ name, namespace, annotations: both });
  return { ...object, apiVersion, kind, metadata: { ...left, ...known } };
};

/** RFC 6901. */
const tokensOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

const valueAt = (node: unknown, tokens: readonly string[]): readonly unknown[] => {
  const [token, ...rest] = tokens;
  if (token === undefined) return [node];
  if (Array.isArray(node)) return token in node ? valueAt(node[Number(token)], rest) : [];
  return isRecord(node) && Object.hasOwn(node, token) ? valueAt(node[token], rest) : [];
};

const owns = ({ fieldsV1 = {} }: ManagedFields, live: LiveObject, tokens: readonly string[]): boolean => {
  let set: unknown = fieldsV1;
  let node: unknown = live;
  for (const token of tokens) {
    if (!isRecord(set)) return false;
    const fields: FieldSet = set;
    const entries = Object.keys(fields).filter((entry) => entry !== '.');
    // The server records a value as a whole where it is atomic.
    if (entries.length === 0) return true;
    const entry = entries.find((one) => memberOf(one, node, isSameItem)?.[0] === token);
    if (entry === undefined) return false;
    node = memberOf(entry, node, isSameItem)?.[1];
    set = fields[entry];
  }
  return true;
};

/** The value without the leaves that a set names. Metadata, and the keys of list items, stay: they identify. */
const withoutFields = (node: unknown, { 'f:metadata': _, ...set }: FieldSet): unknown =>
  Object.entries(set).reduce<unknown>((rest, [entry, below]) => {
    const [token, member] = entry === '.' ? [] : (memberOf(entry, rest, isItemOf) ?? []);
    if (token === undefined) return rest;
    const isLeaf = !isRecord(below) || Object.keys(below).every((inner) => inner === '.');
    if (!isLeaf) return setAt(rest, [token], withoutFields(member, below));
    return entry.startsWith('f:') ? removeAt(rest, [token]) : rest;
  }, node);

const setAt = (node: unknown, [token, ...rest]: readonly string[], value: unknown): unknown => {
  if (token === undefined) return value;
  if (Array.isArray(node))
    return node.map((item: unknown, index) => (String(index) === token ? setAt(item, rest, value) : item));
  if (!isRecord(node) || (rest.length > 0 && !Object.hasOwn(node, token))) return node;
  return { ...node, [token]: setAt(node[token], rest, value) };
};

const removeAt = (node: unknown, [token, ...rest]: readonly string[]): unknown => {
  if (token === undefined) return node;
  if (Array.isArray(node))
    return rest.length === 0
      ? node.filter((_, index) => String(index) !== token)
      : node.map((item: unknown, index) => (String(index) === token ? removeAt(item, rest) : item));
  if (!isRecord(node) || !Object.hasOwn(node, token)) return node;
  if (rest.length > 0) return { ...node, [token]: removeAt(node[token], rest) };
  const { [token]: _, ...others } = node;
  return others;
};
