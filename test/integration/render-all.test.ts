import { expect, test } from 'vitest';
import { WholeFloat } from '../../scheduler/render/go/number.ts';
import { renderAll } from '../../scheduler/render/render-all.ts';
import { renderPlatform } from '../../scheduler/render/render-platform.ts';
import { schedulePlatform } from '../../scheduler/schedule/schedule-platform.ts';
import { clusterType, layer, platform, policy, target } from '../scheduler/model-objects.ts';

test('however many threads render, the bytes and what is held are the same', async () => {
  const whole = platform({
    clusterTypes: [clusterType('a'), clusterType('b', { configType: 'nowhere' }), clusterType('c')],
    targets: [target('shop/api'), target('shop/web')],
    policies: [policy('all')],
    // Values that a clone between threads would change.
    configs: [
      layer('x', { values: { whole: new WholeFloat(1_000_000), map: new Map([[true, 1n << 60n]]) } }),
    ],
  });
  const schedule = schedulePlatform(whole);
  const one = renderPlatform(whole, schedule);
  const many = await renderAll(whole, schedule, 3, new AbortController().signal);
  expect(one.packages[0]?.files[1]?.bytes.toString()).toBe(
    'map:\n    true: 1152921504606846976\nwhole: 1e+06\n',
  );
  expect(many.packages).toEqual(one.packages);
  expect(many.held.map(({ error }) => [error.code, error.message, error.at])).toEqual(
    one.held.map(({ error }) => [error.code, error.message, error.at]),
  );
});
