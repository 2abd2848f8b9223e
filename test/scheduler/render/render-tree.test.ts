import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { renderPlatform } from '../../../scheduler/render/render-platform.ts';
import { keptFolders, renderTree } from '../../../scheduler/render/render-tree.ts';
import { schedulePlatform } from '../../../scheduler/plan/schedule/schedule-platform.ts';
import { clusterType, platform, policy, target } from '../model-objects.ts';

test("the tree has Kalypso's layout: a README per cluster type, the promoted commit, a folder per target", () => {
  const whole = platform({
    promotedCommit: 'c'.repeat(40),
    clusterTypes: [clusterType('a'), clusterType('a-b'), clusterType('empty', { labels: { none: 'yes' } })],
    targets: [target('shop/web')],
    policies: [
      policy('p', {
        clusterTypes: {
          matchLabels: {},
          matchExpressions: [{ key: 'none', operator: 'DoesNotExist', values: [] }],
        },
      }),
    ],
  });
  const tree = renderTree(whole, renderPlatform(whole, schedulePlatform(whole)));
  expect([...tree.keys()]).toEqual([
    '.github/tracking/Promoted_Commit_Id',
    'a-b/README.md',
    'a-b/shop-web/namespace.yaml',
    'a-b/shop-web/platform-config.yaml',
    'a-b/shop-web/reconciler.yaml',
    'a/README.md',
    'a/shop-web/namespace.yaml',
    'a/shop-web/platform-config.yaml',
    'a/shop-web/reconciler.yaml',
    'empty/README.md',
  ]);
  expect(tree.get('empty/README.md')?.toString()).toBe(
    'This folder contains deployment targets scheduled on the cluster type',
  );
  expect(tree.get('.github/tracking/Promoted_Commit_Id')?.toString()).toBe('c'.repeat(40));
  expect(renderTree({ ...whole, promotedCommit: undefined }, { packages: [] }).size).toBe(3);
});

test('folders of held assignments are kept, and of an unreadable application those without a known assignment', () => {
  const whole = platform({
    clusterTypes: [clusterType('a')],
    targets: [target('shop/web')],
    policies: [policy('p')],
  });
  const schedule = schedulePlatform(whole);
  const rendered = renderPlatform(whole, schedule);
  expect(['a', 'a/shop-web', 'a/gone'].filter(keptFolders(whole, rendered))).toEqual([]);
  const [assignment] = schedule.assignments;
  const held = [{ assignment: assignment!, error: new FleetError('TEMPLATE_FAILED', 'x') }];
  expect(['a', 'a/shop-web', 'a/gone'].filter(keptFolders(whole, { packages: [], held }))).toEqual([
    'a/shop-web',
  ]);
  const unread = {
    ...whole,
    heldWorkloads: [{ registration: 'x', workspace: 'w', at: assignment!.target.at, errors: [] }],
  };
  expect(['a', 'a/shop-web', 'a/gone', 'a/shop-web/x'].filter(keptFolders(unread, rendered))).toEqual([
    'a/gone',
  ]);
});
