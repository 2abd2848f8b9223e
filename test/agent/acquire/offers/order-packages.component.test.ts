import { expect, test } from 'vitest';
import { createWorld, onePackage } from '../../world.ts';

test('a package that failed before it ever ran, and is removed from the release, gets an event that ends the failure', async () => {
  await using world = await createWorld();
  const checks = [{ type: 'exec', name: 'answers', argv: ['false'], timeoutSeconds: 1 }] as const;
  await world.release(1, [onePackage('app', 'one'), { id: 'db', files: { '/opt/db': 'two' }, checks }]);
  const count = world.events().length;
  await world.release(2, [onePackage('app', 'one')]);
  const told = world.events().slice(count);
  expect(told.filter(({ assignment }) => assignment === 'db')).toMatchObject([
    { type: 'removed', outcome: 'deleted' },
  ]);
});
