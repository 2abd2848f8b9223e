import { describe, expect, it } from 'vitest';
import { changesOf, listed } from '../../../../agent/store/outbox/changes.ts';
import { appendEvent } from '../../../../agent/store/outbox/outbox.ts';
import { createWorld } from '../../world.ts';

describe('the outbox', () => {
  it('appends an event only in the transaction of its change', async () => {
    await using world = await createWorld();
    expect(() => appendEvent(world.agent, { type: 'drift' })).toThrow('outside a transaction');
    const { db } = world.agent.state;
    const change = db.transaction(() => {
      appendEvent(world.agent, { type: 'drift', message: 'm'.repeat(5000) });
      throw new Error('the change did not happen');
    });
    expect(() => change()).toThrow('did not happen');
    expect(world.events()).toHaveLength(1);
  });
});

describe('the changes an event lists', () => {
  it('are at most 200 and short enough for a report, with the others counted', () => {
    const many = Array.from({ length: 500 }, (_, index) => ({
      key: `file:/opt/${index}`,
      outcome: 'created' as const,
      reason: 'missing',
    }));
    const { changes, more, unchanged } = changesOf([
      ...many,
      { key: 'file:/same', outcome: 'unchanged', reason: '' },
    ]);
    expect(changes).toHaveLength(200);
    expect({ more, unchanged }).toEqual({ more: 300, unchanged: 1 });
    const long = listed(Array.from({ length: 200 }, () => 'x'.repeat(1000)));
    expect(JSON.stringify(long.shown).length).toBeLessThan(48 << 10);
    expect(long.shown.length + long.more).toBe(200);
  });
});
