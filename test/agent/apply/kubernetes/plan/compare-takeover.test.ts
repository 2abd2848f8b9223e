import { expect, it } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';
import type { WantedObject } from '../../../../../agent/apply/kubernetes/desired/wanted-object.ts';
import { compareTakeover } from '../../../../../agent/apply/kubernetes/plan/compare-takeover.ts';
import type { PlanContext } from '../../../../../agent/apply/kubernetes/plan/plan-context.ts';
import { memoryApi } from '../memory-api.ts';

const object = (replicas: number, annotations: Readonly<Record<string, string>>): LiveObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', annotations },
  spec: { replicas },
});

const isEqual = async (dry: LiveObject): Promise<boolean> => {
  const live = object(1, {});
  const context = { api: memoryApi(), options: {}, signal: new AbortController().signal };
  const compared = await compareTakeover({
    context: context as unknown as PlanContext,
    wanted: { object: dry, policy: policyOf({}) } as WantedObject,
    takeover: { live, controller: undefined, isOwned: false, rules: ['ifEqual'] },
    tried: { dry, keeps: [] },
  });
  return compared.isEqual;
};

it('N84: many annotations do not hide a change of the spec from ifEqual', async () => {
  const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`shop.example/${index}`, 'x']));
  expect(await isEqual(object(1, many))).toBe(true);
  expect(await isEqual(object(2, many))).toBe(false);
});
