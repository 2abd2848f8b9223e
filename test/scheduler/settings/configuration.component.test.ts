import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readConfiguration, requireSetting } from '../../../scheduler/settings/configuration.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const FILE = `platform: ./platform
keys: keys
layout: /srv/releases
db: hub.db
maps:
  - https://example.com/apps#dev=../apps
`;

describe('the configuration of the scheduler', () => {
  it('has tokens of forges from files, and refuses a URL instead of a host', async () => {
    await using folder = await temporaryDirectory('configuration');
    const file = join(folder.path, 'fleet-scheduler.yaml');
    const write = (host: string) =>
      writeFile(file, `commitStatuses:\n  forges: [{host: "${host}", tokenFile: token}]\n`);
    await write('github.com');
    expect((await readConfiguration({}, folder.path)).commitStatuses).toEqual({
      forges: [{ host: 'github.com', tokenFile: join(folder.path, 'token') }],
    });
    await write('https://github.com');
    await expect(readConfiguration({}, folder.path)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('commitStatuses.forges.0.host is not a host name'),
    });
  });

  it('is read from fleet-scheduler.yaml in the current folder, with paths relative to the file', async () => {
    await using folder = await temporaryDirectory('configuration');
    await writeFile(join(folder.path, 'fleet-scheduler.yaml'), FILE);
    const configuration = await readConfiguration({}, folder.path);
    expect(configuration).toEqual({
      file: join(folder.path, 'fleet-scheduler.yaml'),
      platform: join(folder.path, 'platform'),
      keys: join(folder.path, 'keys'),
      layout: '/srv/releases',
      db: join(folder.path, 'hub.db'),
      cache: undefined,
      maps: [{ repo: 'https://example.com/apps', ref: 'dev', directory: join(folder.path, '../apps') }],
      environments: undefined,
      plainHttp: [],
      pullImages: false,
      allowRemovals: { count: 0, names: new Set() },
      treePullRequest: false,
      treeClusters: false,
      signCommits: false,
    });
  });

  it.each([
    ['allowRemovals: 2\n', undefined, { count: 2, names: new Set() }],
    [
      'allowRemovals: [shop-web, shop-api]\n',
      undefined,
      { count: 0, names: new Set(['shop-web', 'shop-api']) },
    ],
    ['allowRemovals: 2\n', ['shop-web'], { count: 0, names: new Set(['shop-web']) }],
    ['', 'shop-web,3', { count: 3, names: new Set(['shop-web']) }],
  ])('reads allowRemovals as a number or as names: %o and %o', async (text, flag, allowed) => {
    await using folder = await temporaryDirectory('configuration');
    await writeFile(join(folder.path, 'fleet-scheduler.yaml'), text);
    const given = flag === undefined ? {} : { 'allow-removals': flag };
    expect((await readConfiguration(given, folder.path)).allowRemovals).toEqual(allowed);
  });

  it('refuses a registry without oci://, from a flag or the file', async () => {
    await using folder = await temporaryDirectory('configuration');
    await expect(
      readConfiguration({ registry: 'registry.example/fleet' }, folder.path),
    ).rejects.toMatchObject({
      code: 'USAGE',
      message: 'the registry address "registry.example/fleet" does not begin with oci://',
    });
  });

  it('keeps addresses and times unchanged, and resolves file paths relative to the file', async () => {
    await using folder = await temporaryDirectory('configuration');
    const text = `registry: oci://registry.example:5000/fleet
plainHttp: [registry.example:5000]
caFile: ca.pem
authFile: ./auth.json
poll: 30s
webhookSecretFile: hook
environments: [dev, prod]
`;
    await writeFile(join(folder.path, 'fleet-scheduler.yaml'), text);
    expect(await readConfiguration({}, folder.path)).toMatchObject({
      registry: 'oci://registry.example:5000/fleet',
      plainHttp: ['registry.example:5000'],
      caFile: join(folder.path, 'ca.pem'),
      authFile: join(folder.path, 'auth.json'),
      poll: '30s',
      webhookSecretFile: join(folder.path, 'hook'),
      environments: ['dev', 'prod'],
    });
    const given = { 'ca-file': 'other.pem', 'plain-http': ['other:1'], environment: ['dev'] };
    expect(await readConfiguration(given, '/etc')).toMatchObject({
      caFile: '/etc/other.pem',
      plainHttp: ['other:1'],
      environments: ['dev'],
    });
  });

  it('refuses an empty path instead of using the current folder', async () => {
    await using folder = await temporaryDirectory('configuration');
    await expect(readConfiguration({ layout: '' }, folder.path)).rejects.toMatchObject({
      code: 'USAGE',
      message: '--layout is empty',
    });
  });

  it('is overridden by flags, with paths relative to the current folder', async () => {
    await using folder = await temporaryDirectory('configuration');
    await mkdir(join(folder.path, 'etc'));
    await writeFile(join(folder.path, 'etc/other.yaml'), FILE);
    const configuration = await readConfiguration(
      {
        config: 'etc/other.yaml',
        keys: 'mine',
        platform: 'https://example.com/platform.git#main',
        map: ['https://example.com/x=here'],
      },
      folder.path,
    );
    expect(configuration).toMatchObject({
      keys: join(folder.path, 'mine'),
      db: join(folder.path, 'etc/hub.db'),
      platform: 'https://example.com/platform.git#main',
    });
    expect(configuration.maps.map(({ repo }) => repo)).toEqual([
      'https://example.com/x',
      'https://example.com/apps',
    ]);
  });

  it('splits lists in environment variables', async () => {
    await using folder = await temporaryDirectory('configuration');
    const given = {
      'plain-http': 'one:5000, two:5000',
      hostname: 'hub.example,10.0.0.1',
      environment: 'dev',
    };
    expect(await readConfiguration(given, folder.path)).toMatchObject({
      plainHttp: ['one:5000', 'two:5000'],
      hostnames: ['hub.example', '10.0.0.1'],
      environments: ['dev'],
    });
  });

  it('may be absent, unless --config names it', async () => {
    await using folder = await temporaryDirectory('configuration');
    const configuration = await readConfiguration({}, folder.path);
    expect(configuration.file).toBeUndefined();
    expect(() => requireSetting(configuration, 'keys')).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        hint: 'Give --keys, set FLEET_KEYS, or write keys: into fleet-scheduler.yaml',
      }) as Error,
    );
    await expect(readConfiguration({ config: 'none.yaml' }, folder.path)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    });
  });

  it.each([
    ['an unknown key', 'keys: a\nlayuot: b\n', 2, 1, 'layuot'],
    ['a number for a path', 'keys: a\ndb: 5\n', 2, 5, 'db must be string'],
    ['an empty path', 'keys: ""\n', 1, 7, 'keys'],
    ['a map that is none', 'maps:\n  - a=b\n  - nothing\n', 3, 5, 'maps.1 is not <url>'],
    ['a registry without oci://', 'registry: registry:5000/x\n', 1, 11, 'registry is not oci://host'],
    ['a time without a unit', 'keys: a\npoll: "30"\n', 2, 7, 'poll is not a number and s, m or h'],
    ['a list for the whole', '- a\n', 1, 1, 'the file must be object'],
    ['broken YAML', 'keys: [a\n', 2, 1, 'not YAML'],
    ['a key twice', 'keys: a\nkeys: b\n', 2, 1, 'not YAML'],
  ])('refuses %s with its position', async (_, text, line, column, message) => {
    await using folder = await temporaryDirectory('configuration');
    const file = join(folder.path, 'fleet-scheduler.yaml');
    await writeFile(file, text);
    await expect(readConfiguration({}, folder.path)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      at: { file, line, column },
      message: expect.stringContaining(message) as string,
    });
  });
});
