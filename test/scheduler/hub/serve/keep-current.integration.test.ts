import { expect, it } from 'vitest';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { NOW, testHub } from '../test-hub.ts';
import { keeperOf, release } from './keeper.ts';

// A layout that is locked is waited for, so this takes two seconds.
it('logs why it cannot renew, and tries again in the next round', async () => {
  await using hub = await testHub();
  await release(hub);
  const keeper = await keeperOf(hub);
  const busy = await openReleases(hub.layout, { command: 'build', now: NOW, waitMs: 0 });
  expect(await keeper.at(125)).toEqual(['not renewed in this round']);
  busy[Symbol.dispose]();
  expect(await keeper.at(125)).toEqual(['release renewed']);
});
