import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { formatError } from '../../../bundles/errors.ts';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { CONTROL_PLANE, kalypsoDev, shopRepository } from '../../scheduler/kalypso-platform.ts';
import { configMap, configOf, GLOBAL, object, optionsFor, render, template } from './kalypso-plane.ts';

/** Rules of Kalypso that its recorded runs do not show; each was seen in its own scheduler. */

describe('configuration (2.4)', () => {
  const types = object(
    'ClusterType',
    'edge',
    '  reconciler: rec\n  namespaceService: ns\n  configType: cfg\n',
    '  labels: {region: eu, tier: far}\n',
  );
  const shop = object(
    'Workload',
    'shop',
    '  deploymentTargets:\n    - name: web\n      environment: dev\n      labels: {purpose: web, tier: near}\n      manifests: {}\n',
    '  labels: {team: a, purpose: api}\n',
  );

  test.for([
    ['no label', '', true],
    ['a label of the cluster type', ', region: eu', true],
    ['a label of the target', ', tier: near', true],
    ['the same label of the cluster type, of another value', ', tier: far', true],
    ['each label by another of the two', ', region: eu, team: a', true],
    ['one label that neither has', ', region: eu, team: b', false],
    ['an empty value and no such label', ', nowhere: ""', true],
    ['an empty value and one of the two without the label', ', team: ""', true],
    ['an empty value and both with the label', ', tier: ""', false],
    ['the cluster type’s name', ', cluster-type: edge', true],
    ['another cluster type’s name', ', cluster-type: far', false],
    ['the target’s whole name', ', deployment-target: shop-web', true],
    ['the target’s short name', ', deployment-target: web', false],
    ['the workload', ', workload: shop', true],
    ['the workspace', ', workspace: team-one', true],
    ['the environment, which is nobody’s label', ', environment: dev', false],
    ['the workload’s label, which has overwritten the target’s', ', purpose: api', true],
    ['the target’s label, which the workload has overwritten', ', purpose: web', false],
    [
      'labels of Flux',
      ', kustomize.toolkit.fluxcd.io/name: x, kustomize.toolkit.fluxcd.io/namespace: y',
      true,
    ],
  ] as const)('a ConfigMap with %s', async ([, labels, holds]) => {
    const found = await configOf({
      'dev/types/edge.yaml': types,
      'shop/deploy/shop.yaml': shop,
      'dev/configs/one.yaml': configMap('one', labels, '  here: "yes"\n'),
    });
    expect(found).toEqual(holds ? { here: 'yes' } : {});
  });

  test('a ConfigMap is configuration only with the label platform-config: "true"', async () => {
    const other =
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {platform-config: "false"}\ndata: {a: b}\n';
    expect(
      await configOf({ 'dev/a.yaml': other, 'dev/b.yaml': other.replace(/ {2}labels.*\n/, '') }),
    ).toEqual({});
  });

  test('later names win, compared byte by byte, regardless of labels and repositories', async () => {
    const found = await configOf({
      'dev/1.yaml': configMap('c-b', ', region: eu, workload: shop', '  a: specific\n  b: specific\n'),
      'main/2.yaml': configMap('c-c', '', '  a: last\n'),
      'main/3.yaml': configMap('c-10', '', '  b: first\n  c: digits\n'),
      'dev/4.yaml': configMap('c-9', '', '  c: nine\n'),
    });
    expect(found).toEqual({ a: 'last', b: 'specific', c: 'nine' });
  });

  test.for([
    ["'5'", '5'],
    [" ' a ' ", ' a '],
    ["''a''", 'a'],
    ["'", ''],
    ["'a' and 'b'", "a' and 'b"],
    ['"5"', '"5"'],
    ['5', '5'],
    ['010', '010'],
    ['1.50', '1.50'],
    ['yes', 'yes'],
    ['~', '~'],
    ['', ''],
    ['# comment', '# comment'],
    ['a: b', { a: 'b' }],
    ['ends:', { ends: null }],
    ['-', [null]],
    ["['p','q']", ['p', 'q']],
    ['a: {b', 'a: {b'],
    ['{{ .ClusterType }}', '{{ .ClusterType }}'],
    ['{[a, b]: c}', '{[a, b]: c}'],
    ['? {a: b}\n: c\n', '? {a: b}\n: c\n'],
    ['a: 1\n---\nb: 2\n', { a: 1 }],
    ['a: 1\na: 2\n', { a: 2 }],
    ['on: yes\nn: 010\nx: 0x1F\ny: 1_000\n', { true: true, false: 8, x: 31 }],
    ['t: 1:30\nd: 2020-01-01\n', { t: '1:30', d: '2020-01-01' }],
    ['b: &b {x: 1}\nc: {<<: *b, z: 2}\n', { b: { x: 1 }, c: { x: 1, z: 2 } }],
    ['two\nlines\n', 'two\nlines\n'],
  ] as const)('the value %j becomes %j', async ([text, value]) => {
    const found = (await configOf({
      'dev/v.yaml': configMap('v', '', `  v: ${JSON.stringify(text)}\n`),
    })) as { v: unknown };
    if (text.startsWith('on:')) expect(JSON.stringify(found.v)).toBe('{"false":8,"true":1000,"x":31}');
    else expect(found.v).toEqual(value);
  });

  test('mappings merge, lists merge by name and append, and other values are replaced', async () => {
    const found = await configOf({
      'dev/a.yaml': configMap(
        'c00',
        '',
        '  map: "a: {x: 1, w: 1}\\nb: 1"\n  list: "[p, q]"\n  named: "[{name: a, v: 1, w: 1}, {name: b}]"\n  nameless: "[{a: 1}, {b: 1}]"\n  clash: "[1]"\n  gone: "a: 1"\n',
      ),
      'dev/b.yaml': configMap(
        'c10',
        '',
        '  map: "a: {w: 2, z: 2}\\nb: [2]"\n  list: "[q, r]"\n  named: "[{name: a, v: 2}, {name: c}]"\n  nameless: "[{c: 2}]"\n  clash: "x: 1"\n  gone: ""\n',
      ),
    });
    expect(found).toEqual({
      map: { a: { x: 1, w: 2, z: 2 }, b: [2] },
      list: ['p', 'q', 'q', 'r'],
      named: [{ name: 'a', v: 2, w: 1 }, { name: 'b' }, { name: 'c' }],
      nameless: [
        { a: 1, c: 2 },
        { b: 1, c: 2 },
      ],
      clash: { x: 1 },
      gone: '',
    });
  });

  test('azure-app-config keys override, longer ones shorter ones; a label without a value selects nothing', async () => {
    const azure = `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: azure-app-config}\ndata:\n  url: all\n  region.eu.url: eu\n  region.us.other: us\n  region.eu.db.host: db\n  app.name: shop\n`;
    const { platform, files } = await render({
      'dev/a.yaml': azure,
      'dev/b.yaml': configMap('zzz', '', '  url: under\n  host: under\n'),
      'dev/configs/eu.yaml': undefined,
    });
    expect(parse(files['edge/shop-web/platform-config.yaml'] ?? '')).toEqual({
      url: 'eu',
      host: 'db',
      name: 'shop',
    });
    expect(platform.advice?.map(({ at }) => at?.line)).toEqual([8, 9]);
  });

  test('a value that yaml.v2 may read differently is reported as advice with its line', async () => {
    const { platform } = await render({
      'dev/a.yaml': configMap('v', '', '  level: "[INFO] server"\n  plain: "[a, b]"\n'),
    });
    expect(platform.advice?.map((one) => formatError(one))).toEqual([
      expect.stringMatching(/dev\/a\.yaml:\d+:\d+: .*the value of level begins as a YAML list or mapping/),
    ]);
  });

  test('an azure-app-config with the label platform-config counts as both', async () => {
    const azure = configMap('azure-app-config', '', '  region.eu.url: eu\n');
    expect(await configOf({ 'dev/a.yaml': azure })).toEqual({ 'region.eu.url': 'eu', url: 'eu' });
  });
});

describe('schemas (2.5)', () => {
  const schema = (text: string, labels = ''): string =>
    object(
      'ConfigSchema',
      'limits',
      `  schema: ${JSON.stringify(text)}\n`,
      `  labels: {region: eu${labels}}\n`,
    );
  const properties = (of: object, more: object = {}): string =>
    JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', properties: of, ...more });
  const judge = async (value: string, text: string): Promise<readonly string[]> => {
    const { held } = await render({
      'dev/v.yaml': configMap('v', '', `  v: ${JSON.stringify(value)}\n`),
      'dev/s.yaml': schema(text),
    });
    return held.map(([, said]) => said ?? '');
  };

  test.for([
    ['007', 'integer', true],
    ['007', 'string', false],
    ['-5', 'integer', true],
    ['1.5', 'number', true],
    ['1.5', 'integer', false],
    ['2.0', 'integer', true],
    ['1e3', 'integer', true],
    ['.5', 'number', true],
    ['true', 'boolean', false],
    ['true', 'string', true],
    ['0x1F', 'string', true],
    ['1_000', 'integer', true],
    ['1e400', 'string', true],
    ['nan', 'string', true],
    ['-Inf', 'string', true],
    ['[1]', 'array', true],
    ['a: "5"', 'object', true],
  ] as const)('%s is %s: %s', async ([value, type, good]) => {
    expect(await judge(value, properties({ v: { type } }))).toHaveLength(good ? 0 : 1);
  });

  test('numbers in structured values are checked as numbers', async () => {
    const text = properties({ v: { properties: { port: { type: 'string' } } } });
    expect(await judge('port: "5"', text)).toEqual([]);
    expect(await judge('port: 5', text)).toHaveLength(1);
  });

  test('defaults of a schema are not inserted, and templates receive text', async () => {
    const { files } = await render({
      'dev/s.yaml': schema(properties({ url: { default: 'x' }, more: { default: 1 } })),
    });
    expect(files['edge/shop-web/platform-config.yaml']).toBe('url: https://eu.example.com\n');
  });

  test('schemas of labels, target and workload are all checked', async () => {
    const needs = (name: string): string => JSON.stringify({ required: [name] });
    const shop = `${shopRepository()['deploy/shop.yaml']}      configSchemas: ['${needs('b')}']\n  configSchemas: ['${needs('c')}']\n`;
    const { held } = await render({ 'dev/s.yaml': schema(needs('a')), 'shop/deploy/shop.yaml': shop });
    expect(held).toEqual([
      ['edge/shop-web', expect.stringMatching(/a is missing.*b is missing.*c is missing/)],
    ]);
    const unselected = await render({ 'dev/s.yaml': schema(needs('a'), ', tier: none') });
    expect(unselected.held).toEqual([]);
  });

  test('an invalid schema holds the assignments that it selects, and no other', async () => {
    const west = (kalypsoDev()['types/edge.yaml'] ?? '')
      .replace('name: edge', 'name: west')
      .replace('region: eu', 'region: us');
    const { held, files } = await render({ 'dev/s.yaml': schema('{"type": }'), 'dev/types/west.yaml': west });
    expect(held).toEqual([
      [
        'edge/shop-web',
        expect.stringMatching(/^dev\/s.yaml:7:11: SCHEMA_INVALID: ConfigSchema limits: .*JSON/),
      ],
    ]);
    expect(Object.keys(files)).toContain('west/shop-web/reconciler.yaml');
  });
});

describe('scheduling (2.1, 2.2)', () => {
  const target = (labels: string, environment = 'dev', workload = 'shop', name = 'web'): string =>
    object(
      'Workload',
      workload,
      `  deploymentTargets:\n    - name: ${name}\n      environment: ${environment}\n      labels: {${labels}}\n      manifests: {path: ./web}\n`,
    );
  const policy = (workspace: string, targets: string, types: string): string =>
    object(
      'SchedulingPolicy',
      'all',
      `  deploymentTargetSelector:\n    workspace: "${workspace}"\n    labelSelector: ${targets}\n  clusterTypeSelector:\n    labelSelector: ${types}\n`,
    );
  const assigned = async (labels: string, policyText: string): Promise<boolean> => {
    const { files } = await render({
      'shop/deploy/shop.yaml': target(labels),
      'dev/policies/all.yaml': policyText,
    });
    return Object.hasOwn(files, 'edge/shop-web/reconciler.yaml');
  };

  test.for([
    ['', '{}', '{}', true],
    ['team-one', '{matchLabels: {}}', '{matchLabels: {}}', true],
    ['team-two', '{}', '{}', false],
    ['', '{matchLabels: {a: b}}', '{}', true],
    ['', '{matchLabels: {a: b, c: d}}', '{}', false],
    ['', '{matchLabels: {workload: shop, workspace: team-one}}', '{}', true],
    ['', '{}', '{matchLabels: {region: eu}}', true],
    ['', '{matchLabels: {region: eu}}', '{}', false],
    ['', '{matchExpressions: [{key: a, operator: In, values: [x, b]}]}', '{}', true],
    ['', '{matchExpressions: [{key: none, operator: In, values: [x]}]}', '{}', false],
    ['', '{matchExpressions: [{key: none, operator: NotIn, values: [x]}]}', '{}', true],
    ['', '{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}', '{}', false],
    ['', '{matchExpressions: [{key: a, operator: Exists}]}', '{}', true],
    ['', '{}', '{matchExpressions: [{key: region, operator: DoesNotExist}]}', false],
    ['', '{matchLabels: {a: b}, matchExpressions: [{key: a, operator: DoesNotExist}]}', '{}', false],
  ] as const)(
    'workspace "%s", targets %s, cluster types %s: %s',
    async ([workspace, targets, types, expected]) => {
      expect(await assigned('a: b', policy(workspace, targets, types))).toBe(expected);
    },
  );

  test('targets of another environment are ignored', async () => {
    const { files, held } = await render({ 'shop/deploy/shop.yaml': target('', 'prod') });
    expect([Object.keys(files), held]).toEqual([['edge/README.md'], []]);
  });

  test('a DeploymentTarget may be without a Workload', async () => {
    const own = object(
      'DeploymentTarget',
      'kiosk-hall',
      '  environment: dev\n  manifests: {path: ./kiosk}\n',
      '  labels: {workload: kiosk, workspace: team-one}\n',
    );
    const { files } = await render({
      'dev/target.yaml': own,
      'dev/other.yaml': own.replaceAll('kiosk', 'lost').replace('dev', 'prod'),
    });
    expect(files['edge/kiosk-hall/reconciler.yaml']).toBe('target: kiosk-hall\npath: ./kiosk\n');
    expect(files['edge/kiosk-hall/namespace.yaml']).toBe('name: dev-edge-kiosk-hall\n');
    expect(Object.keys(files).filter((path) => path.includes('lost'))).toEqual([]);
  });

  test('two targets with one name, and a name of 64 characters, hold their own assignments', async () => {
    const long = 'l'.repeat(59);
    const { files, held } = await render({
      'shop/deploy/a.yaml': target('', 'dev', 'a', 'b-c'),
      'shop/deploy/b.yaml': target('', 'dev', 'a-b', 'c'),
      'shop/deploy/long.yaml': target('', 'dev', 'shop2', long.slice(0, 58)),
      'shop/deploy/fits.yaml': target('', 'dev', 'shop3', long.slice(0, 57)),
    });
    expect(held).toEqual([
      [
        'edge/a-b-c',
        expect.stringMatching(/^shop\/deploy\/a.yaml:7:7: NAME_CLASH: .*shop\/deploy\/b.yaml:7:7/),
      ],
      ['edge/a-b-c', expect.stringMatching(/^shop\/deploy\/b.yaml:7:7: NAME_CLASH: /)],
      [
        `edge/shop2-${long.slice(0, 58)}`,
        expect.stringMatching(/^shop\/deploy\/long.yaml:7:7: NAME_INVALID: .*64 characters/),
      ],
    ]);
    // An Assignment's own name, in which the workload stands twice, may be longer.
    expect(Object.keys(files)).toContain(`edge/shop3-${long.slice(0, 57)}/reconciler.yaml`);
  });
});

describe('templates (2.6, 2.7)', () => {
  const rendered = async (text: string) =>
    render({ 'dev/rec2.yaml': template('rec2', 'reconciler', text), ...uses });
  const uses = {
    'dev/types/edge.yaml': (kalypsoDev()['types/edge.yaml'] ?? '').replace(
      'reconciler: rec',
      'reconciler: rec2',
    ),
  };
  const outcome = async (text: string): Promise<string> => {
    const { files, held } = await rendered(text);
    return files['edge/shop-web/reconciler.yaml'] ?? held[0]?.[1] ?? '';
  };

  test.for([
    ['{{ .DeploymentTargetName }}|{{ .Namespace }}|{{ .Environment }}', 'shop-web|dev-edge-shop-web|dev'],
    ['{{ .Workspace }}|{{ .Workload }}|{{ .ClusterType }}', 'team-one|shop|edge'],
    ['{{ .Manifests.repo }}|{{ .Manifests.branch }}', 'https://example.com/shop/gitops|<no value>'],
    ['{{ index .Labels "workspace" }}|{{ index .Labels "missing" }}|', 'team-one||'],
    ['{{ index .Labels "kustomize.toolkit.fluxcd.io/name" }}', 'dev-shop-reg'],
    ['{{ .ConfigData.url }}|{{ .ConfigData.nothing }}', 'https://eu.example.com|<no value>'],
    ['{{ if .ConfigData.nothing }}a{{ else }}b{{ end }}', 'b'],
    ['{{ "x\\ny" }}   ', 'x\ny   '],
  ] as const)('%s renders %s', async ([text, expected]) => {
    expect(await outcome(text)).toBe(expected);
  });

  test.for([
    ['{{ .Nope }}', /^dev\/rec2.yaml:8:\d+: TEMPLATE_FAILED: .*Nope/],
    ['{{ .Repo }}', /TEMPLATE_FAILED: .*Repo/],
    ['{{ if }}', /^dev\/rec2.yaml:8:\d+: TEMPLATE_SYNTAX: /],
    ['{{ env "HOME" }}', /TEMPLATE_FAILED: .*env/],
    ['{{ nosuch 1 }}', /TEMPLATE_(?:SYNTAX|FAILED): .*nosuch/],
  ] as const)('%s is held with its place', async ([text, expected]) => {
    expect(await outcome(text)).toMatch(expected);
  });

  test('values that look like templates are not rendered', async () => {
    const { files } = await render({
      'dev/v.yaml': configMap('v', '', '  v: "{{ .ClusterType }}"\n'),
      'dev/configs/eu.yaml': undefined,
    });
    expect(files['edge/shop-web/platform-config.yaml']).toBe("v: '{{ .ClusterType }}'\n");
  });

  const manifests = (name: string, type: string, texts: readonly string[], more = ''): string =>
    object('Template', name, `  type: ${type}\n${more}  manifests: ${JSON.stringify(texts)}\n`);
  const shaped = (type: string, field: string, texts: readonly string[], more = '') =>
    render({
      'dev/t.yaml': manifests('own', type, texts, more),
      'dev/types/edge.yaml': (kalypsoDev()['types/edge.yaml'] ?? '').replace(
        new RegExp(`${field}: .*`),
        `${field}: own`,
      ),
    });

  test('empty manifests are dropped, blank ones kept, with --- in between', async () => {
    const { files } = await shaped('reconciler', 'reconciler', ['a\n', '', '{{ "" }}', ' \n', 'b']);
    expect(files['edge/shop-web/reconciler.yaml']).toBe('a\n---\n \n---\nb');
  });

  test('reconciler and namespace are written when empty, a configuration is not', async () => {
    const [namespace, config] = [
      await shaped('namespace', 'namespaceService', ['']),
      await shaped('config', 'configType', ['']),
    ];
    expect(namespace.files['edge/shop-web/namespace.yaml']).toBe('');
    expect(Object.keys(config.files)).toEqual([
      'edge/README.md',
      'edge/shop-web/namespace.yaml',
      'edge/shop-web/reconciler.yaml',
    ]);
  });

  test.for([
    ['sh', 'platform-config.sh'],
    ['yaml', 'platform-config.yaml'],
    ['env', 'platform-config.yaml'],
    [undefined, 'platform-config.yaml'],
  ] as const)('a configuration of content type %s is %s', async ([type, file]) => {
    const more = type === undefined ? '' : `  contentType: ${type}\n`;
    const { files } = await shaped('config', 'configType', ['A=1\n'], more);
    expect(files[`edge/shop-web/${file}`]).toBe('A=1\n');
  });

  test('only the configuration has its own file extension, and the type is ignored', async () => {
    const { files } = await shaped('config', 'reconciler', ['a\n'], '  contentType: sh\n');
    expect(files['edge/shop-web/reconciler.yaml']).toBe('a\n');
  });

  test('a missing template holds the cluster type that names it', async () => {
    const edge = kalypsoDev()['types/edge.yaml'] ?? '';
    const { held, files } = await render({
      'dev/types/far.yaml': edge
        .replace('name: edge', 'name: far')
        .replace('configType: cfg', 'configType: nosuch'),
    });
    expect(held).toEqual([
      ['far/shop-web', expect.stringMatching(/^dev\/types\/far.yaml:10:15: REFERENCE_MISSING: .*nosuch/)],
    ]);
    expect(Object.keys(files)).toContain('edge/shop-web/platform-config.yaml');
  });
});

describe('the tree (3.1)', () => {
  test('has a README for every cluster type and the promoted commit, without line ends', async () => {
    const commit = 'c'.repeat(40);
    const { files } = await render({
      'dev/base-repo.yaml': kalypsoDev(CONTROL_PLANE, commit)['base-repo.yaml'],
      'shop/deploy/shop.yaml': object('Workload', 'shop', '  deploymentTargets: []\n'),
    });
    expect(files).toEqual({
      '.github/tracking/Promoted_Commit_Id': commit,
      'edge/README.md': 'This folder contains deployment targets scheduled on the cluster type',
    });
  });

  test('leaves out the commit of another base repository', async () => {
    const other = object(
      'BaseRepo',
      'global',
      `  repo: ${GLOBAL}\n  branch: main\n  path: .\n  commit: ${'d'.repeat(40)}\n`,
    );
    expect(Object.keys((await render({ 'dev/global.yaml': other })).files)).not.toContain(
      '.github/tracking/Promoted_Commit_Id',
    );
  });
});

describe('templates of older control planes', () => {
  test('configType configMap and envFile are built-in templates', async () => {
    const type = (name: string, configType: string): string =>
      object(
        'ClusterType',
        name,
        `  reconciler: rec\n  namespaceService: ns\n  configType: ${configType}\n`,
        '  labels: {region: eu}\n',
      );
    const { files, held } = await render({
      'dev/types/edge.yaml': type('edge', 'configMap'),
      'dev/types/host.yaml': type('host', 'envFile'),
    });
    expect(held).toEqual([]);
    expect(files['edge/shop-web/platform-config.yaml']).toContain('kind: ConfigMap');
    expect(files['host/shop-web/platform-config.yaml']).toContain('url="https://eu.example.com"');
  });

  test('validate advises of a Template without use and of values that nothing sets', async () => {
    const { options, cut } = await optionsFor({
      'dev/types/later.yaml': object(
        'ClusterType',
        'later',
        '  reconciler: nothing\n  namespaceService: ns\n  configType: cfg\n',
        '  labels: {region: eu}\n',
      ),
      'dev/policies/all.yaml': object(
        'SchedulingPolicy',
        'all',
        '  deploymentTargetSelector: {labelSelector: {}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {kind: edge}}}\n',
      ),
      'dev/types/edge.yaml': object(
        'ClusterType',
        'edge',
        '  reconciler: old\n  namespaceService: ns\n  configType: cfg\n',
        '  labels: {region: eu, kind: edge}\n',
      ),
      'main/templates/old.yaml': template(
        'old',
        'reconciler',
        'repo: {{ .ConfigData.repository }}\nurl: {{ .ConfigData.url }}',
      ),
    });
    const { advice } = await validatePlatform(options);
    const said = advice.map((one) => cut(formatError(one)));
    expect(said).toContainEqual(
      expect.stringMatching(
        /^dev\/types\/later\.yaml:.* ClusterType later: there is no Template nothing, which reconciler names/,
      ),
    );
    expect(said).toContainEqual(
      expect.stringMatching(
        /^main\/templates\/old\.yaml:.* Template old: ConfigData\.repository has no value in edge\/shop-web, and is printed as <no value>\. Set it in configuration/,
      ),
    );
    expect(said.join('\n')).not.toContain('ConfigData.url');
  });
});
