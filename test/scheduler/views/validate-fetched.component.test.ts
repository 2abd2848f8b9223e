import { expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { makeTeams, plainTeam } from '../../harness/fleets/two-teams.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const RELEASE = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: web}
spec:
  chartRef: {kind: OCIRepository, name: web}
  valuesFrom:
    - kind: Secret
      name: web-values
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop}
spec:
  chartRef: {kind: OCIRepository, name: shop}
`;

it('values and charts that a cluster fetches are advice of validate and build, each with its place, once', async () => {
  await using folder = await temporaryDirectory('fetched');
  const teams = await makeTeams(folder.path);
  await teams.team('web', { ...plainTeam('web', 1), 'cluster/release.yaml': RELEASE });
  const platform = { platform: `${folder.path}/platform`, maps: [], cacheDirectory: `${folder.path}/cache` };
  const { advice, problems } = await validatePlatform({ ...platform, signal: new AbortController().signal });
  expect(problems).toEqual([]);
  const unjudged = advice.filter(({ code }) => code === 'CONTENT_UNJUDGED').map(formatError);
  expect(unjudged).toEqual([
    expect.stringMatching(/apps\/web\/cluster\/release\.yaml:5:13: .*HelmRelease web: spec\.chartRef /),
    expect.stringMatching(
      /:7:7: .*HelmRelease web: spec\.valuesFrom\[0\] takes values from Secret web-values,/,
    ),
    expect.stringMatching(/:14:13: .*HelmRelease shop: spec\.chartRef /),
  ]);
  const built = await teams.build();
  expect(built.advice.filter(({ code }) => code === 'CONTENT_UNJUDGED').map(formatError)).toEqual(unjudged);
});
