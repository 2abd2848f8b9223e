import { defined } from '#bundles/defined';
import type { LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { isRecord } from '#bundles/is-record';
import { stableText } from '#bundles/json/stable-hash';
import { pathsOf } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** Number of fields that one message names. */
const MAX_SHOWN = 8;
const MAX_FOUND = 50;

/** The compared part of an object: without metadata that the server writes, and without a status that is not ours. */
const essence = (
  { metadata, status, ...rest }: LiveObject,
  statusIsOurs: boolean,
): { readonly [field: string]: unknown } => ({
  ...rest,
  ...defined({ status: statusIsOurs ? status : undefined }),
  metadata: {
    labels: metadata.labels ?? {},
    annotations: metadata.annotations ?? {},
    finalizers: metadata.finalizers ?? [],
    ownerReferences: metadata.ownerReferences ?? [],
  },
});

/**
 * Returns paths of the fields in which the live object and the result of a dry run differ, at most fifty. Never values, which may be
 * secrets. Empty: an apply would change nothing.
 */
export const differences = (live: LiveObject, dry: LiveObject): readonly string[] => {
  const found: string[] = [];
  const statusIsOurs = (dry.metadata.managedFields ?? []).some(
    (entry) => isOwnEntry(entry) && 'f:status' in (entry.fieldsV1 ?? {}),
  );
  compare(essence(live, statusIsOurs), essence(dry, statusIsOurs), '', found);
  return found;
};

const compare = (one: unknown, other: unknown, path: string, found: string[]): void => {
  if (found.length >= MAX_FOUND) return;
  if (isRecord(one) && isRecord(other)) {
    for (const key of [...new Set([...Object.keys(one), ...Object.keys(other)])].toSorted()) {
      compare(one[key], other[key], path === '' ? key : `${path}.${key}`, found);
    }
  } else if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    for (const [index, item] of one.entries()) compare(item, other[index], `${path}[${index}]`, found);
  } else if (!isSameValue(one, other)) found.push(path);
};

/** Absent, null and empty are three things: `namespaceSelector: {}` of a NetworkPolicy selects every namespace, and its absence none. */
const isSameValue = (one: unknown, other: unknown): boolean =>
  one === other || (one !== undefined && other !== undefined && stableText(one) === stableText(other));

/** 'spec.replicas, spec.template and 3 more'. */
export const formatFields = (paths: readonly string[]): string => {
  const more = paths.length - MAX_SHOWN;
  return paths.slice(0, MAX_SHOWN).join(', ') + (more > 0 ? ` and ${more} more` : '');
};

/** Fields that an apply takes over from other managers (checklist S1): 'spec.replicas from kubectl-scale'. */
export const fieldsTakenOver = (live: LiveObject, dry: LiveObject): readonly string[] => {
  const after = new Map(
    (dry.metadata.managedFields ?? []).map((entry) => [keyOf(entry), entry.fieldsV1 ?? {}]),
  );
  return (live.metadata.managedFields ?? [])
    .filter((entry) => !isOwnEntry(entry))
    .flatMap((entry) => {
      const kept = new Set(pathsOf(after.get(keyOf(entry)) ?? {}));
      const lost = pathsOf(entry.fieldsV1 ?? {}).filter((path) => !kept.has(path));
      return lost.length > 0 ? [`${formatFields(lost)} from ${entry.manager ?? 'an unnamed manager'}`] : [];
    });
};

const keyOf = ({ manager, operation, subresource, apiVersion }: ManagedFields): string =>
  JSON.stringify([manager, operation, subresource, apiVersion]);

/** The manager that wrote last, except us and writers of the status: the likely cause of a difference. */
export const lastManager = ({ metadata }: LiveObject): string | undefined =>
  (metadata.managedFields ?? [])
    .filter((entry) => !isOwnEntry(entry) && !entry.subresource)
    .toSorted((a, b) => ((a.time ?? '') < (b.time ?? '') ? 1 : -1))[0]?.manager;
