import { expect, it } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import type { Adopt, ClusterType } from '../../../../scheduler/model/model.ts';
import { clusterType, target } from '../../model-objects.ts';

const rulesOf = async (type: Partial<ClusterType>, granted?: Adopt): Promise<unknown> => {
  const of = clusterType('edge', type);
  const made: AssembledPackage = {
    assignment: {
      clusterType: of,
      policy: 'all',
      target: target('shop/web', granted ? { adopt: granted } : {}),
    },
    id: 'shop-web',
    namespace: 'shop',
    files: [],
    digest: `sha256:${'0'.repeat(64)}`,
    siteInputs: [],
    owns: [],
    images: [],
  };
  const about = { fleet: 'halden', environment: 'prod', clusterType: of, closure: [] };
  return (await packBundle(about, [made])).config.assignments[0]?.rules;
};

it('a package has the takeover rule of its cluster type, and that of its Workspace before it', async () => {
  expect(await rulesOf({})).toBeUndefined();
  expect(await rulesOf({ adopt: 'never' })).toEqual({ adopt: 'never' });
  expect(await rulesOf({ adopt: 'never' }, 'ifEqual')).toEqual({ adopt: 'ifEqual' });
  expect(await rulesOf({}, 'always')).toEqual({ adopt: 'always' });
  expect(await rulesOf({ adopt: 'never', target: 'host' })).toBeUndefined();
});
