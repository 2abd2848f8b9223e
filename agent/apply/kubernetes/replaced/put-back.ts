import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { isMarked, isOwner, type Owner } from '../desired/marks.ts';
import { dropVersions, lostVersions, withVersions } from './stored-versions.ts';

/** Retries after concurrent writes. */
const TRIES = 5;

/**
 * Restores an object from before its adoption: fields, labels, annotations and managedFields, so that `kubectl apply` and controllers
 * continue as before. An object with another mark or none is not changed, because it is restored already.
 * @returns versions of a definition that stay beside those of the copy, because objects may be stored in them
 * @throws FleetError API_*, FIELD_CONFLICT
 */
export const putBack = async (
  api: KubernetesApi,
  copy: LiveObject,
  owner: Owner,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { apiVersion, kind, metadata } = copy;
  const ref: ObjectRef = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
  let staying: readonly string[] = [];
  for (let left = TRIES; ; left--) {
    try {
      const live = await api.read(ref, signal);
      if (!live) await api.create(asNew(copy), signal);
      else if (isOwner(live, owner)) staying = await overwrite(api, live, copy, signal);
      const back = await api.read(ref, signal);
      // A copy may itself have our marks, copied from another object.
      const isBack = isMarked(copy, owner) || (back !== undefined && !isOwner(back, owner));
      if (back && back.metadata.uid === metadata.uid && isBack) {
        const { resourceVersion = '' } = back.metadata;
        // A single empty entry makes the server clear managedFields.
        const value = metadata.managedFields ?? [{}];
        await api.patch(ref, [at(resourceVersion), { op: 'replace', path: MANAGERS, value }], signal);
      }
      return staying;
    } catch (error) {
      if (!isFleetError(error, 'FIELD_CONFLICT') || left === 0) throw error;
    }
  }
};

/** @returns versions that stay */
const overwrite = async (
  api: KubernetesApi,
  live: LiveObject,
  copy: LiveObject,
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const { apiVersion, kind, metadata } = live;
  const ref: ObjectRef = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
  const lost = lostVersions(live, copy);
  const isDropped = lost.length > 0 && (await dropVersions(api, live, copy, lost, signal));
  const staying = isDropped ? [] : lost;
  const now = lost.length > 0 ? await api.read(ref, signal) : live;
  if (!now) return [];
  const back = staying.length > 0 ? withVersions(live, copy, staying) : copy;
  await api.patch(ref, operationsFor(now, back), signal);
  if (lost.length > 0) api.forgetTypes();
  return staying;
};

const MANAGERS = '/metadata/managedFields';

const at = (resourceVersion: string): JsonPatch => ({
  op: 'test',
  path: '/metadata/resourceVersion',
  value: resourceVersion,
});

/** Metadata that the server writes or that identifies the object. */
const SERVER_FIELDS = new Set(['apiVersion', 'kind', 'metadata', 'status']);
const META_FIELDS = ['labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

const operationsFor = (live: LiveObject, copy: LiveObject): readonly JsonPatch[] => {
  const fields = [...new Set([...Object.keys(live), ...Object.keys(copy)])].filter(
    (field) => !SERVER_FIELDS.has(field),
  );
  return [
    at(live.metadata.resourceVersion ?? ''),
    ...fields.flatMap((field) => change(`/${field}`, live[field], copy[field])),
    ...META_FIELDS.flatMap((field) =>
      change(`/metadata/${field}`, live.metadata[field], copy.metadata[field]),
    ),
  ];
};

const change = (path: string, from: unknown, value: unknown): readonly JsonPatch[] => {
  if (value !== undefined) return [{ op: 'add', path, value }];
  return from === undefined ? [] : [{ op: 'remove', path }];
};

const asNew = ({ metadata, ...object }: LiveObject): LiveObject => {
  const {
    uid: _u,
    resourceVersion: _r,
    creationTimestamp: _c,
    generation: _g,
    managedFields: _m,
    ...own
  } = metadata;
  return { ...object, metadata: own };
};
