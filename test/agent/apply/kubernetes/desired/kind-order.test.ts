import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { groupOf, keyOf } from '../../../../../agent/apply/kubernetes/desired/object-key.ts';
import { inKindOrder, stageOf } from '../../../../../agent/apply/kubernetes/desired/kind-order.ts';
import { runs } from '../../../../harness/run/long.ts';

const one = (apiVersion: string, kind: string, name = 'x', namespace: string | undefined = 'ns') => ({
  group: groupOf(apiVersion),
  kind,
  namespace,
  name,
  key: keyOf({ apiVersion, kind, namespace, name }),
});

const ORDER = [
  one('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
  one('v1', 'Namespace'),
  one('rbac.authorization.k8s.io/v1', 'ClusterRole'),
  one('storage.k8s.io/v1', 'StorageClass'),
  one('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding'),
  one('v1', 'ResourceQuota'),
  one('rbac.authorization.k8s.io/v1', 'Role'),
  one('v1', 'ServiceAccount'),
  one('rbac.authorization.k8s.io/v1', 'RoleBinding'),
  one('v1', 'ConfigMap', 'a', 'a'),
  one('v1', 'ConfigMap', 'b', 'a'),
  one('v1', 'ConfigMap', 'a', 'b'),
  one('v1', 'Secret'),
  one('v1', 'Service'),
  one('v1', 'PersistentVolumeClaim'),
  one('apps/v1', 'Deployment'),
  one('batch/v1', 'Job'),
  one('autoscaling/v2', 'HorizontalPodAutoscaler'),
  one('networking.k8s.io/v1', 'Ingress'),
  one('plant.example/v1', 'Deployment'),
  one('plant.example/v1', 'Robot'),
  one('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration'),
];

test('objects are applied in the same order for any order of files', () => {
  fc.assert(
    fc.property(fc.shuffledSubarray(ORDER, { minLength: ORDER.length }), (shuffled) => {
      expect(inKindOrder(shuffled)).toEqual(ORDER);
    }),
    { numRuns: runs(100) },
  );
});

test('stageOf: a custom resource with the kind name of a workload is not ordered as a workload', () => {
  expect(stageOf(one('plant.example/v1', 'Namespace'))).toBe(stageOf(one('plant.example/v1', 'Robot')));
  expect(stageOf(one('serving.knative.dev/v1', 'Service'))).not.toBe(stageOf(one('v1', 'Service')));
});
