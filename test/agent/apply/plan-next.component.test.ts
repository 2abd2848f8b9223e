import { join } from 'node:path';
import { expect, test } from 'vitest';
import { holdSite } from '../../../agent/apply/operator/hold-site.ts';
import { planNext } from '../../../agent/apply/plan-next.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, onePackage } from '../world.ts';

test('what the accepted release would change is shown during a hold, and nothing is written', async () => {
  await using world = await createWorld();
  await world.release(1, [onePackage('app', 'one'), onePackage('old', 'one'), onePackage('same', 'one')]);
  expect(await planNext(world.agent)).toEqual([]);
  await holdSite(world.agent, undefined, 'batch 17');
  await world.release(2, [onePackage('app', 'two'), onePackage('new', 'two'), onePackage('same', 'one')]);
  const count = world.events().length;
  expect(await planNext(world.agent)).toMatchObject([
    { assignment: 'app', changes: [{ key: 'file:/opt/app', outcome: 'configured' }] },
    { assignment: 'new', changes: [{ key: 'file:/opt/new', outcome: 'created' }] },
    { assignment: 'old', changes: [{ key: 'file:/opt/old', outcome: 'deleted' }] },
  ]);
  expect(await planNext(world.agent, ['new'])).toHaveLength(1);
  await expect(planNext(world.agent, ['nobody'])).rejects.toMatchObject({ code: 'USAGE' });
  expect(world.events()).toHaveLength(count);
  expect(liveFiles(join(world.folder, 'machine'))).toEqual({
    '/opt/app': 'one',
    '/opt/old': 'one',
    '/opt/same': 'one',
  });
});
