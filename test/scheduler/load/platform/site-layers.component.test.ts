import { describe, expect, test } from 'vitest';
import { formatError } from '../../../../bundles/errors.ts';
import type { Platform } from '../../../../scheduler/model/model.ts';
import { ours } from '../../fleet-platform.ts';
import { loadFleetWith } from './load-written.ts';

const config = (name: string, spec: string): string => ours('Config', name, `spec:\n  ${spec}\n`);
const registration = (name: string, folder: string, spec: string): string =>
  ours('ConfigRegistration', name, `spec:\n  config: {repo: ../teams/${folder}}\n  ${spec}\n`);

const shown = ({ siteLayers = [] }: Platform) =>
  siteLayers.map(({ name, siteSelector, from, fixed }) => ({ name, siteSelector, from, fixed }));

/** Sentences, with places from the file on. */
const said = (errors: Platform['advice'] = []): readonly string[] =>
  errors.map((error) => formatError(error).replaceAll(/[^\s(]*\/(platform|teams)\//g, '$1/'));

describe('layers that select sites', () => {
  test('are in no bundle, and fewer labels come before more, the base before the environment', async () => {
    const plain = await loadFleetWith({});
    const platform = await loadFleetWith({
      'platform/base/layers.yaml': [
        config('b', 'siteSelector: {region: north, line: a}\n  values: {port: 1}'),
        config('a', 'siteSelector: {region: north}\n  selector: {place: hall, x: y}\n  values: {port: 2}'),
        config('c', 'siteSelector: {}\n  fixed: true\n  values: {port: 3}'),
      ].join('---\n'),
      'platform/environments/prod/layers.yaml': config('d', 'siteSelector: {}\n  values: {port: 4}'),
    });
    expect(platform.configs.map(({ name }) => name)).toEqual(plain.configs.map(({ name }) => name));
    expect(shown(platform)).toEqual([
      { name: 'c', siteSelector: {}, from: 'base', fixed: true },
      { name: 'b', siteSelector: { region: 'north', line: 'a' }, from: 'base', fixed: false },
      { name: 'a', siteSelector: { region: 'north' }, from: 'base', fixed: false },
      { name: 'd', siteSelector: {}, from: 'environment', fixed: false },
    ]);
    expect(platform.siteLayers?.[3]?.places['port']).toMatchObject({ line: 7, column: 12 });
    expect('siteLayers' in plain || 'declaredSites' in plain).toBe(false);
  });

  test('come from the repository of a team for the sites that its registration selects', async () => {
    const platform = await loadFleetWith({
      'platform/base/teams.yaml': registration(
        'north',
        'north',
        'siteSelector: {region: north}\n  sites: [plant-n*]',
      ),
      'teams/north/site.yaml': ours(
        'Site',
        'plant-n1',
        'spec: {labels: {region: north}, agents: [{name: edge-1, channel: prod/factory, labels: {line: a}}]}\n',
      ),
      'teams/north/gateway.yaml': config('gateway', 'values: {host: n}'),
      'teams/north/line.yaml': config('line', 'siteSelector: {line: a}\n  values: {host: a}'),
    });
    expect(shown(platform)).toEqual([
      { name: 'north/gateway', siteSelector: { region: 'north' }, from: 'base', fixed: false },
      { name: 'north/line', siteSelector: { line: 'a', region: 'north' }, from: 'base', fixed: false },
    ]);
    expect(platform.declaredSites).toMatchObject([
      {
        name: 'plant-n1',
        labels: { region: 'north' },
        agents: [{ name: 'edge-1', channel: 'prod/factory' }],
      },
    ]);
    expect(platform.sources.map(({ role }) => role)).toContain('config/north');
  });

  test.each([
    [
      'another region',
      config('g', 'siteSelector: {region: south}\n  values: {a: 1}'),
      'it selects region=south, and ConfigRegistration north grants only region=north',
    ],
    [
      'a policy',
      ours('Workspace', 'w', 'spec: {}\n'),
      'a Workspace cannot come from a repository of configuration',
    ],
    [
      'a site that was not granted',
      ours('Site', 'plant-s1', 'spec: {labels: {region: north}}\n'),
      'ConfigRegistration north may not declare the site plant-s1',
    ],
    [
      'a site without the label',
      ours('Site', 'plant-n1', 'spec: {}\n'),
      'it lacks the label region=north, which ConfigRegistration north selects by',
    ],
    ['YAML with a mistake', 'apiVersion: [', 'YAML_SYNTAX'],
  ])('of a team with %s are unread, and block no other team', async (_, text, sentence) => {
    const platform = await loadFleetWith({
      'platform/base/teams.yaml': registration(
        'north',
        'north',
        'siteSelector: {region: north}\n  sites: [plant-n*]',
      ),
      'platform/base/all.yaml': config('all', 'siteSelector: {}\n  values: {a: 1}'),
      'teams/north/good.yaml': config('good', 'values: {a: 2}'),
      'teams/north/bad.yaml': text.includes('fleet-ferry') ? text : `# fleet-ferry\n${text}`,
    });
    expect(shown(platform).map(({ name }) => name)).toEqual(['all']);
    expect(platform.unreadLayers).toMatchObject([
      { registration: 'north', siteSelector: { region: 'north' } },
    ]);
    expect(said(platform.advice)).toEqual([expect.stringContaining(sentence)]);
    expect(said(platform.advice)[0]).toMatch(/^teams\/north\/bad\.yaml:\d+:\d+: /);
  });

  test('N97: of a team cannot be fixed, so that they override those that the platform fixed there', async () => {
    const platform = await loadFleetWith({
      'platform/base/teams.yaml': registration('north', 'north', 'siteSelector: {region: north}'),
      'platform/base/all.yaml': config('all', 'siteSelector: {}\n  fixed: true\n  values: {gateway: safe}'),
      'teams/north/bad.yaml': config('bad', 'fixed: true\n  siteSelector: {}\n  values: {gateway: mine}'),
    });
    expect(shown(platform).map(({ name }) => name)).toEqual(['all']);
    expect(platform.advice?.map(({ code }) => code)).toEqual(['OUT_OF_BOUNDS']);
    expect(said(platform.advice)).toEqual([expect.stringMatching(/bad\.yaml:.*its values are fixed/)]);
  });

  test('of a repository that is not there are unread, too', async () => {
    const platform = await loadFleetWith({
      'platform/base/teams.yaml': registration('north', 'nowhere', 'siteSelector: {region: north}'),
    });
    expect(platform.unreadLayers?.map(({ errors }) => errors.map(({ code }) => code))).toEqual([
      ['SOURCE_MISSING'],
    ]);
  });
});

describe('declared sites', () => {
  test('of the platform come first, and a second declaration is named with the first', async () => {
    const site = (region: string) => ours('Site', 'plant-1', `spec: {labels: {region: ${region}, t: x}}\n`);
    const platform = await loadFleetWith({
      'platform/base/sites.yaml': site('north'),
      'platform/base/teams.yaml': registration('a', 'a', 'siteSelector: {t: x}\n  sites: ["*"]'),
      'teams/a/site.yaml': site('south'),
    });
    expect(platform.declaredSites).toMatchObject([{ name: 'plant-1', labels: { region: 'north' } }]);
    expect(said(platform.advice)).toEqual([
      expect.stringMatching(
        /^teams\/a\/site\.yaml:1:1: NAME_CLASH: Site plant-1 is declared twice, first at platform\/base\/sites\.yaml:1:1, which counts/,
      ),
    ]);
  });

  test.each([
    [
      'siteSelector of fixed',
      config('c', 'fixed: true\n  values: {a: 1}'),
      'spec.fixed is about values of sites',
    ],
    ['no name as a label', ours('Site', 's', 'spec: {labels: {site: x}}\n'), 'spec.labels.site is no label'],
    [
      'an agent once',
      ours('Site', 's', 'spec: {agents: [{name: a, channel: prod/x}, {name: a}]}\n'),
      'spec.agents names a twice',
    ],
    [
      'a whole channel',
      ours('Site', 's', 'spec: {agents: [{name: a, channel: prod}]}\n'),
      'is not <environment>/<cluster type>',
    ],
    [
      'a site once in the platform',
      `${ours('Site', 's', 'spec: {}\n')}---\n${ours('Site', 's', 'spec: {}\n')}`,
      'Site s is declared twice',
    ],
  ])('and layers need %s', async (_, text, sentence) => {
    await expect(loadFleetWith({ 'platform/base/x.yaml': text })).rejects.toThrow(sentence);
  });
});
