import { join } from 'node:path';
import { expect, test } from 'vitest';
import { deliverTrees } from '../../../../scheduler/deliver/tree/deliver-trees.ts';
import { parseTreeTarget } from '../../../../scheduler/deliver/tree/tree-target.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform } from '../../fleet-platform.ts';

test('--to gitops for a platform of our form, which has no GitOpsRepo, proposes git+<URL> alone', async () => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, fleetPlatform());
  const [delivered] = await deliverTrees({
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    to: parseTreeTarget('gitops'),
    environments: ['prod'],
    pullRequest: false,
    forge: undefined,
    connection: { plainHttp: [], env: {} },
    env: {},
    now: new Date('2026-11-21T08:00:00Z'),
    signal: new AbortController().signal,
  });
  const hint = 'Give --to git+<URL>: the branch is the environment, or write #<branch>';
  expect(delivered).toMatchObject({ outcome: 'failed', problems: [{ code: 'REFERENCE_MISSING', hint }] });
});
