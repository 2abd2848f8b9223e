import { expect, test } from 'vitest';
import { planImageRemoval } from '../../../../../agent/apply/host/plan/plan-images.ts';

const NAME = `registry.example/web@sha256:${'a'.repeat(64)}`;

test.each([
  ['that the agent loaded goes with its package', 'loaded', undefined, 'deleted', 'no longer in the package'],
  ['that was there before stays', 'here', undefined, 'skipped', 'the agent did not load it'],
  ['that is gone needs no step', 'missing', undefined, 'unchanged', 'it is gone already'],
  ['of another package stays', 'loaded', 'shop', 'unchanged', 'shop uses it, too'],
] as const)('an image %s', (_what, live, other, outcome, reason) => {
  expect(planImageRemoval(NAME, live, other)).toMatchObject({ key: `image:${NAME}`, outcome, reason });
});
