import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { isMarked, isOwner, type Owner } from '../desired/marks.ts';

/** Retries after concurrent writes. */
const TRIES = 5;

/**
 * Restores an object from before its adoption: fields, labels, annotations and managedFields, so that `kubectl apply` and controllers
 * continue as before. An object with another mark or none is not changed, because it is restored already.
 * @throws FleetError API_*, FIELD_CONFLICT
 */
export const putBack = async (
  api: KubernetesApi,
  copy: LiveObject,
  owner: Owner,
  signal: AbortSignal,
): Promise<void> => {
  const { apiVersion, kind, metadata } = copy;
  const ref: ObjectRef = { apiVersion, kind, name: metadata.name, namespace: metadata.namespace };
  for (let left = TRIES; ; left--) {
    try {
      const live = await api.read(ref, signal);
      if (!live) await api.create(asNew(copy), signal);
      else if (isOwner(live, owner)) await api.patch(ref, operationsFor(live, copy), signal);
      const back = await api.read(ref, signal);
      // A copy may itself have our marks, copied from another object.
      const isBack = isMarked(copy, owner) || (back !== undefined && !isOwner(back, owner));
      if (back && back.metadata.uid === metadata.uid && isBack) {
        const { resourceVersion = '' } = back.metadata;
        // A single empty entry makes the server clear managedFields.
        const value = metadata.managedFields ?? [{}];
        await api.patch(ref, [at(resourceVersion), { op: 'replace', path: MANAGERS, value }], signal);
      }
      return;
    } catch (error) {
      if (!isFleetError(error, 'FIELD_CONFLICT') || left === 0) throw error;
    }
  }
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
