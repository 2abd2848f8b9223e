import { describe, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import type { KubernetesApi, LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';
import type { Wanted } from '../../../../../agent/apply/kubernetes/desired/resolve-wanted.ts';
import { createRightsCheck } from '../../../../../agent/apply/kubernetes/plan/check-rights.ts';
import { memoryApi } from '../memory-api.ts';

const MAP = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  group: '',
  namespace: 'shop',
  name: 'm',
  policy: policyOf({}),
};

const check = (more: Partial<KubernetesApi>, wanted: object = { objects: [MAP], later: new Set() }) =>
  createRightsCheck(() => 0).check(
    {
      ...memoryApi(),
      typeOf: async () => ({
        group: '',
        version: 'v1',
        kind: 'ConfigMap',
        plural: 'configmaps',
        namespaced: true,
        verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
        hasStatusSubresource: false,
      }),
      ...more,
    },
    wanted as Wanted,
    () => undefined,
    new AbortController().signal,
  );

const denies = (allowed: boolean) => async (object: LiveObject) => ({ ...object, status: { allowed } });

describe('the check of rights before the first write', () => {
  it('refuses a package whose account lacks what it needs', async () => {
    await expect(check({ create: denies(false) })).rejects.toMatchObject({ code: 'API_DENIED' });
    await expect(check({ create: denies(true) })).resolves.toBeUndefined();
  });

  it('stops nothing on a cluster that denies access reviews', async () => {
    const create = () => Promise.reject(new FleetError('API_DENIED', 'no reviews here'));
    await expect(check({ create })).resolves.toBeUndefined();
  });

  it('does not ask about kinds of an API service that the package brings and that does not answer', async () => {
    const typeOf = () => Promise.reject(new FleetError('API_FAILED', 'the API service does not answer'));
    const wanted = { objects: [MAP], later: new Set(['v1 ConfigMap']) };
    await expect(check({ create: denies(false), typeOf }, wanted)).resolves.toBeUndefined();
  });
});
