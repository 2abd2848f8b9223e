import { expect, it } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import type { ClusterType, PlacedObjectRule } from '../../../../scheduler/model/model.ts';
import { clusterType, target } from '../../model-objects.ts';

const AT = { file: 'cluster-types/edge.yaml', line: 7, column: 18 };

const made = (of: ClusterType, id: string, owns: readonly string[]): AssembledPackage => ({
  assignment: { clusterType: of, policy: 'all', target: target('shop/web') },
  id,
  namespace: 'shop',
  files: [],
  digest: `sha256:${'0'.repeat(64)}`,
  siteInputs: [],
  owns,
  images: [],
});

const configOf = async (objectRules: readonly PlacedObjectRule[], type: Partial<ClusterType> = {}) => {
  const of = clusterType('edge', { objectRules, ...type });
  const about = { fleet: 'halden', environment: 'prod', clusterType: of, closure: [] };
  const packages = [
    made(of, 'shop-web', ['Deployment.apps shop/web', 'ConfigMap shop/settings']),
    made(of, 'store', [
      'Database.databases.example shop/orders',
      'ClusterRole.rbac.authorization.k8s.io reader',
    ]),
  ];
  return (await packBundle(about, packages)).config;
};

it('a bundle has the rules that select an object of its packages, and each package their indices', async () => {
  const config = await configOf([
    { kinds: ['StatefulSet'], wait: false },
    { kinds: ['Deployment.apps'], ignore: ['/spec/replicas'], names: undefined },
    {
      kinds: ['Database.databases.example'],
      namespaces: ['sh*'],
      health: {
        current: { value: "status.phase == 'Up'", at: AT },
        failed: undefined,
        inProgress: undefined,
      },
    },
    { kinds: ['*'], names: ['web', 'reader'], drift: 'report' },
    { kinds: ['Deployment.extensions'], wait: false },
    { kinds: ['ClusterRole'], namespaces: ['default'], wait: false },
  ]);
  expect(config.objectRules).toEqual([
    { kinds: ['Deployment.apps'], ignore: ['/spec/replicas'] },
    {
      kinds: ['Database.databases.example'],
      namespaces: ['sh*'],
      health: { current: "status.phase == 'Up'" },
    },
    { kinds: ['*'], names: ['web', 'reader'], drift: 'report' },
  ]);
  expect(config.assignments.map(({ rules }) => rules)).toEqual([{ objects: [0, 2] }, { objects: [1, 2] }]);
  expect(config.critical).toContain('objectRules');
});

it('a bundle without an object that a rule selects is as one without rules', async () => {
  expect(await configOf([{ kinds: ['StatefulSet'], wait: false }])).toEqual(await configOf([]));
});
