import { describe, expect, test } from 'vitest';
import { ours } from '../../fleet-platform.ts';
import { loadFleetWith, loadKalypsoWith } from './load-written.ts';

const workspace = (name: string, host: string): string => ours('Workspace', name, `spec:\n  host: ${host}\n`);

describe('the workspaces of a platform', () => {
  test('are read from base/, and an environment may replace one', async () => {
    const files = {
      'platform/base/teams.yaml': `${workspace('shop', '{paths: [/srv/a], users: [shop]}')}---\n${workspace('line', '{units: [line-*], secretSets: [line]}')}`,
      'platform/environments/prod/teams.yaml': workspace('shop', '{paths: [/srv/b]}'),
    };
    const hostsOf = async (environment: string) =>
      Object.fromEntries(
        (await loadFleetWith(files, environment)).workspaces?.map(({ name, host }) => [name, host]) ?? [],
      );
    const line = { paths: [], units: ['line-*'], users: [], secretSets: ['line'] };
    expect(await hostsOf('qa')).toEqual({
      line,
      shop: { paths: ['/srv/a'], units: [], users: ['shop'], secretSets: [] },
    });
    expect(await hostsOf('prod')).toEqual({
      line,
      shop: { paths: ['/srv/b'], units: [], users: [], secretSets: [] },
    });
  });

  test('are absent without Workspace objects', async () => {
    expect('workspaces' in (await loadFleetWith({}))).toBe(false);
  });

  test('may be in a Kalypso control plane', async () => {
    const platform = await loadKalypsoWith({ 'teams.yaml': workspace('shop', '{}') });
    expect(platform.workspaces?.map(({ name }) => name)).toEqual(['shop']);
  });

  test('state the site values and critical targets of their applications, none by default', async () => {
    const spec = 'spec: {siteValues: [lineNumber, oven-*], critical: true}\n';
    const files = {
      'platform/base/teams.yaml': `${ours('Workspace', 'sales', spec)}---\n${workspace('line', '{}')}`,
    };
    const { workspaces, targets } = await loadFleetWith(files);
    expect(workspaces).toMatchObject([
      { name: 'line', siteValues: [], critical: false },
      { name: 'sales', siteValues: ['lineNumber', 'oven-*'], critical: true },
    ]);
    expect(targets).toMatchObject([{ siteValues: ['lineNumber', 'oven-*'], packageSeconds: 1800 }]);
  });

  test('own the workload name of each registration, and the names that its annotation lists', async () => {
    const registration = (name: string, listed: string): string =>
      `apiVersion: fleet-ferry/v1alpha1\nkind: WorkloadRegistration\nmetadata:\n  name: ${name}\n  annotations: {fleet-ferry/allow-workloads: "${listed}"}\nspec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n`;
    const files = {
      'platform/base/shop.yaml': registration('shop', 'till, kiosk'),
      'platform/base/apps.yaml': registration('line', 'kiosk robot'),
    };
    const { workloadOwners, targets } = await loadFleetWith(files);
    expect(
      [...(workloadOwners ?? [])].map(([name, owner]) => `${name} ${owner.registration}`).toSorted(),
    ).toEqual(['kiosk line', 'line line', 'robot line', 'shop shop', 'till shop']);
    expect(targets.map(({ labels }) => labels['registration'])).toContain('shop');
  });

  test.for([
    ['a path with ..', '{paths: [/srv/../etc]}', 'is not an absolute path on a host'],
    ['the root directory', '{paths: [/]}', 'is not an absolute path on a host'],
    ['a unit with a slash', '{units: [a/b.service]}', 'is not a pattern of unit names'],
    ['a number for a user', '{users: ["0"]}', 'is not the name of a user or group'],
    ['a secret set that is not a name', '{secretSets: [A_b]}', 'is not a pattern of names of secret sets'],
    ['a field that there is not', '{path: [/srv/a]}', 'It may have paths, units, users, secretSets'],
  ] as const)('are refused with their place: %s', async ([, host, said]) => {
    const loading = loadFleetWith({ 'platform/base/teams.yaml': workspace('shop', host) });
    await expect(loading).rejects.toThrow(said);
    await expect(loading).rejects.toThrow(/platform\/base\/teams\.yaml:\d+:\d+: /);
  });

  test('N90: reboots of hosts by a ClusterType from the repository of an application -> UNKNOWN_KIND', async () => {
    const type =
      'apiVersion: fleet-ferry/v1alpha1\nkind: ClusterType\nmetadata: {name: line}\nspec: {target: host, reboot: {windows: ["* * * * * for 1h"]}}\n';
    const refused = await loadFleetWith({ 'apps/shop/deploy/type.yaml': type }).catch(String);
    expect(refused).toEqual(
      expect.stringMatching(
        /deploy\/type\.yaml:1:1: UNKNOWN_KIND: ClusterType line: a ClusterType cannot come from an application's repository/,
      ),
    );
  });

  test('N27: own grant, from the repository of an application -> UNKNOWN_KIND', async () => {
    const grant = workspace('shop', '{users: [root]}');
    const refused = await loadFleetWith({ 'apps/shop/deploy/grant.yaml': grant }).catch(String);
    expect(refused).toEqual(
      expect.stringMatching(
        /deploy\/grant\.yaml:1:1: UNKNOWN_KIND: Workspace shop: a Workspace cannot come from an application's repository/,
      ),
    );
  });
});
