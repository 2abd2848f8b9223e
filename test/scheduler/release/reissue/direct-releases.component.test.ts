import { expect, test } from 'vitest';
import { openLayout } from '../../../../bundles/formats/layout/layout.ts';
import { directReleases } from '../../../../scheduler/release/reissue/direct-releases.ts';
import { listReleases } from '../../../../scheduler/release/reissue/list-releases.ts';
import { ours } from '../../fleet-platform.ts';
import { openBuiltOffice } from '../chain/chain-office.ts';

test('a release is direct if its bundle changed and the promoted candidate did not', async () => {
  const office = await openBuiltOffice();
  await office.promote('dev', 'qa');
  await office.build();
  office.commit({ 'environments/qa/own.yaml': ours('Config', 'own', 'spec:\n  values: {OWN: "qa-1"}\n') });
  await office.build();
  office.config('base/level.yaml', 'base-1');
  await office.build();
  await office.promote('dev', 'qa');
  await office.build();
  const layout = await openLayout(office.layout);
  const directIn = async (environment: string): Promise<readonly number[]> => {
    const releases = await listReleases(layout, { environment, clusterType: 'press' }, office.keys.roots);
    return [...(await directReleases(layout, releases))];
  };
  expect(
    (await listReleases(layout, { environment: 'qa', clusterType: 'press' }, office.keys.roots)).length,
  ).toBe(3);
  expect(await directIn('qa')).toEqual([2]);
  // Nothing is promoted to dev.
  expect(await directIn('dev')).toEqual([]);
});
