import { expect, it } from 'vitest';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';
import { findTakeovers } from '../../../../../agent/apply/kubernetes/plan/check-claims.ts';
import type { PlanContext } from '../../../../../agent/apply/kubernetes/plan/plan-context.ts';
import { memoryApi } from '../memory-api.ts';

const GROUP = 'kustomize.toolkit.fluxcd.io';

it('takes no object of a Kustomization because one of the same name in another namespace is gone', async () => {
  const api = memoryApi();
  api.put({
    apiVersion: `${GROUP}/v1`,
    kind: 'Kustomization',
    metadata: { name: 'apps', namespace: 'there' },
  });
  const names = ['gone', 'there'];
  const live = names.map((name) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      uid: name,
      namespace: 'shop',
      labels: { [`${GROUP}/name`]: 'apps', [`${GROUP}/namespace`]: name },
    },
  }));
  const context = {
    options: { adopt: 'ifUnowned' },
    rules: { isTenant: false },
    // Its answer does not matter: the kind is there.
    api: { ...api, typeOf: async () => ({}) },
    wanted: { objects: names.map((name) => ({ key: name, policy: policyOf({}) })) },
    live: new Map(live.map((one) => [one.metadata.name, one])),
    owned: new Map(),
    signal: new AbortController().signal,
  } as unknown as PlanContext;
  const found = await findTakeovers(context);
  expect([...found].map(([key, { isOwned }]) => [key, isOwned])).toEqual([
    ['gone', false],
    ['there', true],
  ]);
});
