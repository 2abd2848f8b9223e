import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { stableText } from '#bundles/json/stable-hash';
import { additionsOf } from './additions.ts';
import { type ExtraField, extraFieldsOf } from './extra-fields.ts';
import { deployersOf, isReported } from './deploy-tools.ts';
import { emptied } from './emptied.ts';
import { tokenOf } from './field-set.ts';

/** Fields beside those of the package, and the patch that removes them. */
export type ConflictRemoval = {
  /** 'spec.ports[port=81,protocol=TCP] of kubectl-patch', 'spec.strategy.rollingUpdate, a default' */
  readonly named: readonly string[];
  readonly operations: readonly JsonPatch[];
  /** The patch removes nothing but fields of the agent: a refusal of it is the server's verdict on the package's object. */
  readonly isVerdict?: true;
};

/**
 * Finds what keeps the server from taking the package's object, at the fields that it names when it refuses an apply. Returns the ways to
 * remove it, the one that removes least first; each patch also writes the package's fields beside those that it removes.
 *
 * A default or a field of a controller may not go with the new form: `rollingUpdate` with `type: Recreate`, an injected CA bundle without
 * the conversion webhook that it was for. And if a person edits the key of a list item or another member of a union, the package's object
 * cannot be merged: two ports with one name, a variable with `value` and `valueFrom`.
 * @param refusal the server's message or the fields that it names
 */
export const findConflicts = (
  live: LiveObject,
  wanted: LiveObject,
  refusal: string,
): readonly ConflictRemoval[] => {
  const fields = fieldsIn(refusal);
  const others = foreignManagersOf(live, wanted);
  const found = extraFieldsOf(live, wanted).filter((one) =>
    fields.some((field) => isMeant(one, field, others)),
  );
  const own = found.filter(({ owner }) => typeof owner === 'string');
  const empties = emptied(live, wanted, (path) => fields.includes(path));
  return [
    ...(empties.length > 0 ? [{ named: [], operations: empties, isVerdict: true as const }] : []),
    ...(own.some(({ owner }) => owner === 'nobody') ? [without(own)] : []),
    ...(own.length < found.length ? [without(found)] : []),
    ...editedItems(live, wanted, refusal),
  ];
};

/** A field path before the server's reason (field.Error of Kubernetes), or, for an object with secrets, before its name. */
const FIELD =
  /(?<![\w.])([a-zA-Z][\w-]*(?:\.[\w-]+|\[[^\]]*\])*)(?=: (?:Required|Invalid|Forbidden|Unsupported|Duplicate|Too|Not|Internal) ?| \(FieldValue)/g;

/** Paths of fields in the server's words, without indices: 'spec.strategy.rollingUpdate: Forbidden', 'spec.a (FieldValueInvalid)'. */
const fieldsIn = (refusal: string): readonly string[] => [
  ...new Set([...refusal.matchAll(FIELD)].map(([, path = '']) => plain(path))),
];

const plain = (path: string): string => path.replaceAll(/\[[^\]]*\]/g, '');

/** Managers of people, deployment tools and what deployed the object before us. */
const foreignManagersOf = (live: LiveObject, wanted: LiveObject): ReadonlySet<string> => {
  const before = deployersOf(live, wanted);
  const entries = (live.metadata.managedFields ?? []).filter((entry) => isReported(entry, before));
  return new Set(entries.flatMap(({ manager }) => manager ?? []));
};

/**
 * A refusal names the field itself, one below it, another member of the same union, or the object that has it. Directly in a spec only the
 * field itself counts, because the server and controllers keep fields there; if the refusal names the spec, fields of people and tools do
 * as well (`minAvailable` of the tool before us beside `maxUnavailable`).
 */
const isMeant = (
  { path, holder, owner }: ExtraField,
  field: string,
  others: ReadonlySet<string>,
): boolean => {
  const at = plain(path);
  if (field === at || field.startsWith(`${at}.`)) return true;
  const place = at.slice(0, at.lastIndexOf('.'));
  const isTop = holder.lastIndexOf('/') === 0;
  if (isTop) return field === place && typeof owner === 'object' && others.has(owner.manager);
  return field === place || field.slice(0, field.lastIndexOf('.')) === place;
};

const without = (found: readonly ExtraField[]): ConflictRemoval => {
  const holders = new Map(found.map((one) => [one.holder, one]));
  return {
    named: found.flatMap(({ path, owner }) =>
      owner === 'us' ? [] : [owner === 'nobody' ? `${path}, a default` : `${path} of ${owner.manager}`],
    ),
    operations: [
      ...found.map(({ pointer }): JsonPatch => ({ op: 'remove', path: pointer })),
      ...[...holders.values()].flatMap(writtenBeside),
    ],
  };
};

/** The package's fields in an object from which fields are removed, without which the server would add the removed ones again. */
const writtenBeside = ({ holder, wanted, live }: ExtraField): readonly JsonPatch[] =>
  Object.entries(wanted).flatMap(([key, value]) => {
    const before = live[key];
    const isInner = typeof before === 'object' && before !== null;
    if (value === undefined || isInner || stableText(before) === stableText(value)) return [];
    return [{ op: 'add', path: `${holder}/${tokenOf(key)}`, value }];
  });

/** Fields and list items that others added, replaced with the package's list or object. */
const editedItems = (live: LiveObject, wanted: LiveObject, refusal: string): readonly ConflictRemoval[] => {
  const said = refusal.replaceAll(/\[\d+\]/g, '');
  const isSaid = (place: string): boolean =>
    new RegExp(`(^|[^\\w.])${RegExp.escape(plain(place))}[.:]`).test(said);
  // Never a whole spec, because fields that the server keeps in it would be lost.
  const found = additionsOf(live, wanted).filter(
    ({ place, holder }) => holder.lastIndexOf('/') > 0 && isSaid(place),
  );
  if (found.length === 0) return [];
  const holders = new Map(found.map(({ holder, wanted: value }) => [holder, value]));
  const outer = [...holders].filter(
    ([holder]) => ![...holders.keys()].some((other) => holder.startsWith(`${other}/`)),
  );
  return [
    {
      named: [...new Set(found.map(({ path, manager }) => `${path} of ${manager}`))],
      operations: outer.map(([path, value]) => ({ op: 'replace', path, value })),
    },
  ];
};
