import type { JsonPatch, LiveObject, ManagedFields } from '../api/kubernetes-api.ts';
import { FIELD_MANAGER } from '../api/open-kubernetes-api.ts';
import { type FieldSet, pathsOf, subtract, unite } from './field-set.ts';
import { isOwnEntry } from './fingerprint.ts';

/** Clients that apply without server-side apply. They write whole objects, so all their fields are taken over. */
const BEFORE_APPLY = 'before-first-apply';
const CLIENT_SIDE = new Set(['kubectl-client-side-apply', BEFORE_APPLY]);

/** Field managers of clients that people use. */
const BY_HAND = /^(kubectl|oc|helm|k9s|curl|node-fetch|Mozilla|headlamp|dashboard)([-/]|$)/i;

/** Field managers of Flux, Argo CD, Rancher Fleet and the like. `helm` and kubectl count as people's clients. */
const TOOLS =
  /^(kustomize-controller|helm-controller|flux|argocd|argocd-.*|fleetagent|kapp|kapp-.*|kluctl|configsync|timoni|pulumi-.*|terraform|Terraform|HashiCorp|werf)$/;

/** True for a tool that deploys whole objects. */
export const isTool = ({ manager = '', subresource }: ManagedFields): boolean =>
  !subresource && TOOLS.test(manager);

export const isByHand = ({ manager = '', subresource }: ManagedFields): boolean =>
  !subresource && BY_HAND.test(manager);

/** Field managers of clients that write whole objects: what they wrote is what was to be deployed. */
const DEPLOYING_CLIENTS = /^(helm|kubectl-(create|replace|run|expose))$/i;

/**
 * Field managers of the deployment tools of an object that is taken over: known tools, clients that write whole objects, and those that the site
 * names. People's later edits are not among them.
 * @param named managers of the site's own tools
 */
export const deployersIn = ({ metadata }: LiveObject, named: readonly string[] = []): readonly string[] => [
  ...new Set(
    (metadata.managedFields ?? [])
      .filter((entry) => !entry.subresource && isDeployer(entry, named))
      .flatMap(({ manager }) => manager ?? []),
  ),
];

const isDeployer = (entry: ManagedFields, named: readonly string[]): boolean => {
  const { manager = '', operation } = entry;
  return (
    isTool(entry) ||
    DEPLOYING_CLIENTS.test(manager) ||
    (operation === 'Apply' && isByHand(entry)) ||
    (manager !== FIELD_MANAGER && named.includes(manager))
  );
};

/** Managers whose fields we take over, so that fields which the package does not have are removed (checklist S4, S8). */
export const toMigrate = (live: LiveObject, fields: 'merge' | 'strict'): readonly string[] => [
  ...new Set(
    (live.metadata.managedFields ?? [])
      .filter((entry) => isMigrated(entry, fields))
      .map(({ manager = '' }) => manager),
  ),
];

const isMigrated = (
  entry: ManagedFields,
  fields: 'merge' | 'strict',
  strips: readonly string[] = [],
): boolean => {
  const { manager = '', subresource, operation } = entry;
  if (subresource) return false;
  if (strips.includes(manager)) return true;
  // Our fields with operation Update come from replacing additions of others (find-conflicts.ts).
  if (operation === 'Update' && (manager === FIELD_MANAGER || CLIENT_SIDE.has(manager))) return true;
  return fields === 'strict' && (isByHand(entry) || isTool(entry));
};

/**
 * The patch that makes other managers' fields ours, with a test of the resourceVersion. undefined: nothing to do.
 * @param takes fields to take from all managers @param strips managers to take all fields from
 */
export const migration = (
  live: LiveObject,
  fields: 'merge' | 'strict',
  { takes = {}, strips = [] }: { readonly takes?: FieldSet; readonly strips?: readonly string[] } = {},
): readonly JsonPatch[] | undefined => {
  const entries = live.metadata.managedFields ?? [];
  const theirs = entries.filter((entry) => isMigrated(entry, fields, strips));
  if (theirs.length === 0 && pathsOf(takes).length === 0) return undefined;
  const ours = entries.find(isOwnEntry);
  const united = [...(ours ? [ours] : []), ...theirs]
    .map(({ fieldsV1 = {} }): FieldSet => fieldsV1)
    .reduce(unite, takes);
  const merged: ManagedFields = {
    manager: FIELD_MANAGER,
    operation: 'Apply',
    apiVersion: ours?.apiVersion ?? theirs[0]?.apiVersion ?? live.apiVersion,
    fieldsType: 'FieldsV1',
    fieldsV1: united,
  } as ManagedFields;
  const rest = entries
    .filter((entry) => entry !== ours && !theirs.includes(entry))
    .flatMap((entry) => without(entry, takes));
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
    { op: 'replace', path: '/metadata/managedFields', value: [merged, ...rest] },
  ];
};

/**
 * The patch that moves the record of field managers from a version that the object's definition no longer has to the version it was read in:
 * the server refuses each apply of the object otherwise.
 */
export const fromLostVersion = (live: LiveObject, lost: string): readonly JsonPatch[] => {
  const entries = (live.metadata.managedFields ?? []).map((entry) =>
    entry.apiVersion === lost ? { ...entry, apiVersion: live.apiVersion } : entry,
  );
  const byManager = Map.groupBy(entries, ({ manager, operation, subresource, apiVersion }) =>
    JSON.stringify([manager, operation, subresource, apiVersion]),
  );
  const value = [...byManager.values()].map((of) => ({
    ...of[0],
    fieldsV1: of.map(({ fieldsV1 = {} }): FieldSet => fieldsV1).reduce(unite),
  }));
  return [
    { op: 'test', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion ?? '' },
    { op: 'replace', path: '/metadata/managedFields', value },
  ];
};

/**
 * The patch that gives an object up for the next tool: our fields get the manager of writers from before server-side apply, which tools
 * take over with an object, so that nothing of ours stays in it.
 */
export const release = (live: LiveObject): readonly JsonPatch[] => {
  const entries = live.metadata.managedFields ?? [];
  if (!entries.some(isOwnEntry)) return [];
  const value = entries.map((entry) =>
    isOwnEntry(entry) ? { ...entry, manager: BEFORE_APPLY, operation: 'Update' as const } : entry,
  );
  return [{ op: 'replace', path: '/metadata/managedFields', value }];
};

const without = (entry: ManagedFields, takes: FieldSet): readonly ManagedFields[] => {
  if (entry.subresource) return [entry];
  const fieldsV1 = subtract(entry.fieldsV1 ?? {}, takes);
  return pathsOf(fieldsV1).length > 0 ? [{ ...entry, fieldsV1 }] : [];
};
