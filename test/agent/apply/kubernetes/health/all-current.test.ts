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

test('allCurrent is false when an object that the package waits for is not Current in what was read', () => {
  expect(allCurrent([config, deployment(2)])).toBe(true);
  expect(allCurrent([config, deployment(1)])).toBe(false);
  expect(allCurrent([deployment(1, { 'fleet-ferry/wait': 'disabled' })])).toBe(true);
  expect(allCurrent([])).toBe(true);
});
