import { isFleetError } from '#bundles/errors';
import type { JsonPatch, KubernetesApi, LiveObject, ObjectRef } from '../api/kubernetes-api.ts';
import { isOwner, type Owner } from '../desired/marks.ts';

/** Writes of others that may come in between before it is given up. */
const TRIES = 5;

/**
 * Makes an object what it was before a package took it over: fields, labels, annotations, and the record of who owns which
 * field, so that `kubectl apply` and controllers go on as before. One that bears another mark, or none, is left alone: it is back.
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
      if (back && back.metadata.uid === metadata.uid && !isOwner(back, owner)) {
        const { resourceVersion = '' } = back.metadata;
        // One empty entry makes the server clear managedFields.
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

/** What the server writes into an object, or what says which object it is. */
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
