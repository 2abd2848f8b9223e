import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import { problemsOf } from '../../../../scheduler/model/problems.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../../kalypso-platform.ts';

const workspace = (name: string, host: string): string => ours('Workspace', name, `spec:\n  host: ${host}\n`);

const load = async (more: Readonly<Record<string, string>>, environment = 'prod') => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), ...more });
  return loadPlatform({
    platform: join(directory, 'platform'),
    environment,
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  }).catch((error: unknown) => {
    throw new Error(
      problemsOf(error)
        .map((problem) => formatError(problem).replaceAll(`${directory}/`, ''))
        .join('\n'),
    );
  });
};

describe('the workspaces of a platform', () => {
  test('stand in base/, and an environment may replace one', async () => {
    const files = {
      'platform/base/teams.yaml': `${workspace('shop', '{paths: [/srv/a], users: [shop]}')}---\n${workspace('line', '{units: [line-*], secretSets: [line]}')}`,
      'platform/environments/prod/teams.yaml': workspace('shop', '{paths: [/srv/b]}'),
    };
    const hostsOf = async (environment: string) =>
      Object.fromEntries(
        (await load(files, environment)).workspaces?.map(({ name, host }) => [name, host]) ?? [],
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

  test('are absent where the platform has none', async () => {
    expect('workspaces' in (await load({}))).toBe(false);
  });

  test('may stand in a Kalypso control plane', async () => {
    const directory = await temporaryDirectory();
    const prefixed = (folder: string, tree: Record<string, string>) =>
      Object.fromEntries(Object.entries(tree).map(([path, text]) => [`${folder}/${path}`, text]));
    await writeFiles(directory, {
      ...prefixed('main', kalypsoMain()),
      ...prefixed('dev', kalypsoDev(CONTROL_PLANE, 'c'.repeat(40))),
      ...prefixed('shop', shopRepository()),
      'dev/teams.yaml': workspace('shop', '{}'),
    });
    const platform = await loadPlatform({
      platform: join(directory, 'main'),
      environment: 'dev',
      fleet: 'halden',
      maps: [
        { repo: CONTROL_PLANE, ref: 'main', directory: join(directory, 'main/') },
        { repo: CONTROL_PLANE, ref: 'dev', directory: join(directory, 'dev/') },
        { repo: SHOP, directory: join(directory, 'shop/') },
      ],
      cacheDirectory: join(directory, 'cache'),
      env: {},
    });
    expect(platform.workspaces?.map(({ name }) => name)).toEqual(['shop']);
  });

  test.for([
    ['a path with ..', '{paths: [/srv/../etc]}', 'is not an absolute path on a host'],
    ['the root directory', '{paths: [/]}', 'is not an absolute path on a host'],
    ['a unit with a slash', '{units: [a/b.service]}', 'is not a pattern of unit names'],
    ['a number for a user', '{users: ["0"]}', 'is not the name of a user or group'],
    ['a secret set that is no name', '{secretSets: [A_b]}', 'is not a pattern of names of secret sets'],
    ['a field that there is not', '{path: [/srv/a]}', 'It may have paths, units, users, secretSets'],
  ] as const)('are refused with their place: %s', async ([, host, said]) => {
    const loading = load({ 'platform/base/teams.yaml': workspace('shop', host) });
    await expect(loading).rejects.toThrow(said);
    await expect(loading).rejects.toThrow(/platform\/base\/teams\.yaml:\d+:\d+: /);
  });

  test('N27: own grant, from the repository of an application -> UNKNOWN_KIND', async () => {
    const directory = await temporaryDirectory();
    await writeFiles(directory, {
      ...fleetPlatform(),
      'apps/shop/deploy/grant.yaml': workspace('shop', '{users: [root]}'),
    });
    const platform = join(directory, 'platform');
    const error: unknown = await loadPlatform({
      platform,
      environment: 'prod',
      maps: [],
      cacheDirectory: join(directory, 'cache'),
      env: {},
    }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({
      code: 'UNKNOWN_KIND',
      message: "a Workspace cannot come from an application's repository",
      at: { line: 1, column: 1 },
    });
  });
});
