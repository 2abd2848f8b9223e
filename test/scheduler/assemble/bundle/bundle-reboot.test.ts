import { expect, it } from 'vitest';
import { packBundle } from '../../../../scheduler/assemble/bundle/pack-bundle.ts';
import { clusterType } from '../../model-objects.ts';

const REBOOT = { windows: ['0 2 * * 6 for 2h'] };
const pack = (more: Parameters<typeof clusterType>[1]) =>
  packBundle(
    {
      fleet: 'halden',
      environment: 'prod',
      clusterType: clusterType('press', { target: 'host', ...more }),
      closure: [],
    },
    [],
  );

it("a bundle carries its cluster type's reboot policy, which is not critical", async () => {
  const { config } = await pack({ reboot: REBOOT });
  expect(config.reboot).toEqual(REBOOT);
  expect(config.critical).toEqual([]);
});

it('a cluster type without a reboot policy has an unchanged bundle', async () => {
  const { config, digest } = await pack({});
  expect(Object.keys(config)).not.toContain('reboot');
  expect(digest).toBe((await pack({ reboot: undefined })).digest);
});
