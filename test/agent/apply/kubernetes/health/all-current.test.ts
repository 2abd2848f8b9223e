import { expect, test } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { allCurrent } from '../../../../../agent/apply/kubernetes/health/all-current.ts';

const deployment = (ready: number, annotations: Record<string, string> = {}): LiveObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', generation: 3, annotations },
  spec: { replicas: 2 },
  status: {
    observedGeneration: 3,
    replicas: 2,
    updatedReplicas: 2,
    readyReplicas: ready,
    availableReplicas: ready,
    conditions: [{ type: 'Available', status: ready === 2 ? 'True' : 'False' }],
  },
});
const config: LiveObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'web' } };

test('allCurrent is false when an object that the package waits for is not Current in what was read', async () => {
  expect(await allCurrent([config, deployment(2)], undefined)).toBe(true);
  expect(await allCurrent([config, deployment(1)], undefined)).toBe(false);
  expect(await allCurrent([deployment(1, { 'fleet-ferry/wait': 'disabled' })], undefined)).toBe(true);
  expect(await allCurrent([], undefined)).toBe(true);
});

test('allCurrent judges by the rules of the platform', async () => {
  const health = { current: "data.state == 'done'" };
  const rules = [
    { kinds: ['ConfigMap'], health },
    { kinds: ['Deployment.apps'], wait: false },
  ];
  const map = (state: string): LiveObject => ({ ...config, data: { state } });
  expect(await allCurrent([map('done'), deployment(1)], rules)).toBe(true);
  expect(await allCurrent([map('open'), deployment(1)], rules)).toBe(false);
});

test('allCurrent counts an object as not Current whose expression this version refuses, and throws nothing', async () => {
  const rules = [{ kinds: ['ConfigMap'], health: { current: 'unknown.field == 1' } }];
  expect(await allCurrent([config], rules)).toBe(false);
});
