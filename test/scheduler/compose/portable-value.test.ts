import { expect, test } from 'vitest';
import { arrivedLayers, portableLayers } from '../../../scheduler/compose/portable-value.ts';
import type { ConfigValue } from '../../../scheduler/platform/model.ts';
import { WholeFloat } from '../../../scheduler/render/go/number.ts';
import { layer } from '../model-objects.ts';

test('every kind of value arrives in another thread as what it was', () => {
  const values = {
    whole: new WholeFloat(5),
    big: 12345678901234567890n,
    like: { value: 5 },
    map: new Map<ConfigValue, ConfigValue>([
      [true, [new WholeFloat(1), 1, 1.5, null]],
      ['text', 'x'],
    ]),
  };
  const [arrived] = arrivedLayers(structuredClone(portableLayers([layer('x', { values })])));
  expect(arrived?.values).toStrictEqual(values);
});
