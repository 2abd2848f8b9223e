import { expect, it } from 'vitest';
import { orderOf } from '../../../exporter/commands/order-flags.ts';

it('a way that goes through a folder which is not there leads where it is meant to', () => {
  const order = orderOf({ from: 'a', to: 'new/../stick' }, {}, new Date(0), new AbortController().signal);
  expect(order.to).toBe('stick');
});
