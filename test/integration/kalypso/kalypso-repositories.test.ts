import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { explainPlatform } from '../../../scheduler/views/explain/explain-platform.ts';
import { loadPlatform } from '../../../scheduler/load/load-platform.ts';
import { kalypsoDev, kalypsoMain, shopRepository } from '../../scheduler/kalypso-platform.ts';
import {
  complaints,
  configMap,
  configOf,
  GLOBAL,
  GROUP,
  object,
  optionsFor,
  render,
  template,
} from './kalypso-plane.ts';

/** How control planes may be written, and what is reported about them. */

describe('a Kalypso repository', () => {
  const reference = async () => (await render()).files;

  test('may spread templates, configuration and registrations over base repositories and folders', async () => {
    const main = kalypsoMain();
    const [rec = '', ...others] = (main['templates/all.yaml'] ?? '').split('---\n');
    const { files } = await render({
      'dev/global.yaml': object(
        'BaseRepo',
        'global',
        `  repo: ${GLOBAL}\n  branch: main\n  path: ./some/where\n`,
      ),
      'main/templates/all.yaml': rec,
      'global/some/where/deep/templates.yml': others.join('---\n'),
      'global/some/where/shop.yaml': main['workloads/shop.yaml'],
      'main/workloads/shop.yaml': undefined,
      'global/elsewhere/config.yaml': configMap('outside', '', '  url: outside\n'),
    });
    expect({ ...files }).toEqual(await reference());
  });

  test('may have other kinds, status, namespaces and annotations', async () => {
    const edge = kalypsoDev()['types/edge.yaml'] ?? '';
    const { files } = await render({
      'dev/types/edge.yaml': `---\n# a comment\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: dev}\n--- # the next\n${edge.replace('  labels:', '  namespace: elsewhere\n  annotations: {a: b}\n  labels:')}status: {}\n...\n---\n`,
      'dev/flux.yaml':
        'apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: x}\nspec: {url: https://example.com}\n',
      'dev/crd.yaml':
        'apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x.scheduler.kalypso.io}\n',
      'dev/chart/values.txt': '{{ .Values }}',
      'dev/chart/templates/deploy.yaml': 'kind: {{ .Values.kind }}\n{{- if .x }}\n',
      'dev/object.json': JSON.stringify({
        apiVersion: GROUP,
        kind: 'ClusterType',
        metadata: { name: 'json' },
      }),
    });
    expect(files).toEqual(await reference());
  });

  test('may have CRLF and JSON in YAML', async () => {
    const windows = (text: string | undefined): string => (text ?? '').replaceAll('\n', '\r\n');
    const { files } = await render({
      'main/templates/all.yaml': windows(kalypsoMain()['templates/all.yaml']),
      'shop/deploy/shop.yaml': windows(shopRepository()['deploy/shop.yaml']),
      'dev/types/edge.yaml': JSON.stringify(parse(kalypsoDev()['types/edge.yaml'] ?? '')),
    });
    expect(files).toEqual(await reference());
  });

  test('may have its objects in a List', async () => {
    const items = Object.values({ ...kalypsoDev(), 'base-repo.yaml': '' })
      .filter((text) => text !== '')
      .map((text) => parse(text) as unknown);
    const { files } = await render({
      'dev/types/edge.yaml': undefined,
      'dev/policies/all.yaml': undefined,
      'dev/configs/eu.yaml': JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });
    expect(files).toEqual(await reference());
  });

  test('may use anchors and merge keys', async () => {
    const shop = `apiVersion: ${GROUP}
kind: Workload
metadata:
  name: shop
  labels: &labels {tier: front}
spec:
  deploymentTargets:
    - name: web
      environment: dev
      labels: *labels
      manifests: &where
        repo: https://example.com/shop/gitops
        path: ./web
    - name: api
      environment: dev
      manifests:
        <<: *where
        path: ./api
`;
    const { files, platform } = await render({ 'shop/deploy/shop.yaml': shop });
    expect(files['edge/shop-web/reconciler.yaml']).toBe('target: shop-web\npath: ./web\n');
    expect(files['edge/shop-api/reconciler.yaml']).toBe('target: shop-api\npath: ./api\n');
    expect(platform.targets[0]?.manifests).toEqual({
      repo: 'https://example.com/shop/gitops',
      path: './api',
    });
  });

  test('may give a ConfigMap its labels by an alias or a merge key', async () => {
    const text = `apiVersion: v1
kind: ConfigMap
metadata:
  annotations: &labels {platform-config: "true"}
  name: one
  labels: {<<: *labels, region: eu}
data: {merged: a}
`;
    expect(
      await configOf({
        'dev/a.yaml': text,
        'dev/b.yaml': text
          .replace('{<<: *labels, region: eu}', '*labels')
          .replace('one', 'two')
          .replace('merged', 'alias'),
      }),
    ).toEqual({ alias: 'a', merged: 'a' });
  });

  test('leaves out what .sourceignore names, as Flux reads it', async () => {
    const broken = `apiVersion: ${GROUP}\nkind: ClusterTyp\n`;
    const { files } = await render({
      'dev/.sourceignore': '/*\n!/types\n!/policies/all.yaml\n!base-repo.yaml\n!/configs\n# docs\n!/docs/\n',
      'dev/docs/.sourceignore': 'draft*\n',
      'dev/docs/draft.yaml': broken,
      'dev/policies/half.yaml': broken,
      'dev/top.yaml': broken,
      'dev/types/examples/.sourceignore': '*\n',
      'dev/types/examples/x.yaml': broken,
    });
    expect(files).toEqual(await reference());
  });

  test("has Workloads without a workspace in the environment's branch", async () => {
    const { platform } = await render({
      'dev/own.yaml': (shopRepository()['deploy/shop.yaml'] ?? '').replace('name: shop', 'name: own'),
    });
    expect(platform.targets.map(({ name, workspace }) => [name, workspace])).toEqual([
      ['own-web', ''],
      ['shop-web', 'team-one'],
    ]);
  });

  test('is reported with the position of unknown kinds and misspelled fields', async () => {
    expect(
      await complaints({
        'dev/a.yaml': object('Assignment', 'a', '  workload: shop\n'),
        'dev/b.yaml': object('BaseRepo', 'b', '  repo: x\n  brunch: main\n  path: .\n'),
        'dev/c.yaml': object('Template', 'c', '  type: other\n  manifests: []\n'),
      }),
    ).toEqual([
      expect.stringMatching(/^dev\/a.yaml:2:7: UNKNOWN_KIND: .*Assignment/),
      expect.stringMatching(/^dev\/b.yaml:7:3: UNKNOWN_FIELD: .*brunch/),
      expect.stringMatching(/^dev\/b.yaml:6:3: FIELD_INVALID: .*spec.branch is missing/),
      expect.stringMatching(/^dev\/c.yaml:6:9: FIELD_INVALID: .*spec.type/),
    ]);
  });
});

describe('a folder with a kustomization', () => {
  const kustomization = (fields: string): string =>
    `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n${fields}`;
  const broken = `apiVersion: ${GROUP}\nkind: ClusterTyp\n`;

  test('has the listed files and folders, and nothing else', async () => {
    const { files } = await render({
      'dev/kustomization.yaml': kustomization(
        'namespace: dev\nresources:\n  - base-repo.yaml\n  - types\n  - ./policies/all.yaml\n  - configs/\n',
      ),
      'dev/types/kustomization.yml': kustomization('resources: [edge.yaml]\n'),
      'dev/types/draft.yaml': broken,
      'dev/configs/Kustomization': kustomization('resources: [eu.yaml]\n'),
      'dev/notes.yaml': broken,
    });
    expect(files).toEqual((await render()).files);
  });

  test('leaves out unlisted files below a folder without a kustomization', async () => {
    const { files } = await render({
      'dev/types/kustomization.yaml': kustomization('resources: [edge.yaml]\n'),
      'dev/types/draft.yaml': broken,
    });
    expect(files).toEqual((await render()).files);
  });

  test('renames and labels what it lists, the inner one first', async () => {
    const { platform } = await render({
      'dev/types/kustomization.yaml': kustomization(
        'namePrefix: a-\ncommonLabels: {site: hall, region: us}\nresources: [inner]\n',
      ),
      'dev/types/inner/kustomization.yaml': kustomization(
        'nameSuffix: -z\nlabels:\n  - pairs: {tier: inner, site: inner}\n    includeSelectors: true\nresources: [../edge.yaml]\n',
      ),
    });
    expect(platform.clusterTypes.map(({ name, labels }) => [name, labels])).toEqual([
      ['a-edge-z', { region: 'us', tier: 'inner', site: 'hall' }],
    ]);
  });

  test('may list files outside of the folder, but not outside of the repository', async () => {
    const { files } = await render({
      'shop/deploy/kustomization.yaml': kustomization('resources: [../app/shop.yaml]\n'),
      'shop/app/shop.yaml': shopRepository()['deploy/shop.yaml'],
      'shop/deploy/shop.yaml': broken,
    });
    expect(Object.keys(files)).toContain('edge/shop-web/reconciler.yaml');
    expect(
      await complaints({ 'dev/kustomization.yaml': kustomization('resources:\n  - ../main/templates\n') }),
    ).toEqual([
      expect.stringMatching(/^dev\/kustomization.yaml:4:5: REFERENCE_MISSING: .*\.\.\/main\/templates/),
    ]);
  });

  test.for([
    ['resources: [none.yaml]\n', /^dev\/kustomization.yaml:3:13: REFERENCE_MISSING: .*there is no none.yaml/],
    ['resources: [https://example.com/a.yaml]\n', /REFERENCE_MISSING: .*lies outside of the repository/],
    [
      'patches: []\nresources: []\n',
      /^dev\/kustomization.yaml:3:1: FIELD_INVALID: .*"patches" is not supported/,
    ],
    ['resources: [.]\n', /REFERENCE_MISSING: .*lists itself/],
    ['resources: x\n', /FIELD_INVALID: .*resources must be a list/],
  ] as const)('that says %j is refused', async ([fields, expected]) => {
    expect(await complaints({ 'dev/kustomization.yaml': kustomization(fields) })).toEqual([
      expect.stringMatching(expected),
    ]);
  });

  test("of another program in an application's repository is ignored", async () => {
    const { files } = await render({
      'shop/deploy/chart/kustomization.yaml': kustomization(
        'resources: [https://example.com/a.yaml]\nhelmCharts: [{name: x}]\n',
      ),
      'shop/deploy/chart/values.yaml': 'a: {{ b }}\n',
    });
    expect(files).toEqual((await render()).files);
  });
});

describe('other forms of a Kalypso repository', () => {
  test('Environments may be JSON in a List, and the path of their branch a folder', async () => {
    const environment = parse(kalypsoMain()['.environments/dev.yaml'] ?? '') as {
      spec: { controlPlane: object };
    };
    environment.spec.controlPlane = { ...environment.spec.controlPlane, path: './fleet/dev' };
    const moved = Object.fromEntries(
      Object.entries(kalypsoDev()).flatMap(([path, text]) => [
        [`dev/${path}`, undefined],
        [`dev/fleet/dev/${path}`, text],
      ]),
    );
    const { files } = await render({
      ...moved,
      'main/.environments/dev.yaml': JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [environment] }),
    });
    expect(files).toEqual((await render()).files);
  });

  test('explain names the line within the text of a ConfigMap', async () => {
    const more = {
      'dev/a.yaml': configMap(
        'c00',
        '',
        '  # comment\n  db: |\n\n    host: a\n    pool:\n      min: 1\n    on: [1]\n',
      ),
      'dev/b.yaml': configMap('c10', '', '  db: "host: b"\n'),
    };
    const { options, cut } = await optionsFor(more);
    const [pair] = explainPlatform(await loadPlatform(options), { key: 'db' });
    const shown = pair?.values.map(({ path, at, overrode }) => [
      path.join('.'),
      ...[at, ...overrode.map((say) => say.at)].map(
        ({ file, line, column }) => `${cut(file)}:${line}:${column}`,
      ),
    ]);
    expect(shown).toEqual([
      ['db.host', 'dev/b.yaml:7:7', 'dev/a.yaml:10:5'],
      ['db.pool.min', 'dev/a.yaml:12:7'],
      ['db.true.0', 'dev/a.yaml:13:5'],
    ]);
  });

  test('a schema violation names the line within the text of a ConfigMap', async () => {
    const text = JSON.stringify({ properties: { db: { properties: { port: { maximum: 1 } } } } });
    const { held } = await render({
      'dev/a.yaml': configMap('c00', '', '  db: |\n    host: a\n    port: 5\n'),
      'dev/s.yaml': object('ConfigSchema', 's', `  schema: '${text}'\n`),
    });
    expect(held).toEqual([
      ['edge/shop-web', expect.stringMatching(/^dev\/a.yaml:9:5: CONFIG_SCHEMA: .*db.port/)],
    ]);
  });

  test('the hash of NaN is that of Go', async () => {
    const { files } = await render({
      'dev/v.yaml': configMap('v', '', '  v: "[.nan]"\n'),
      'dev/t.yaml': template('hashed', 'reconciler', '{{ hash .ConfigData.v }}'),
      'dev/types/edge.yaml': (kalypsoDev()['types/edge.yaml'] ?? '').replace(
        'reconciler: rec',
        'reconciler: hashed',
      ),
    });
    expect(files['edge/shop-web/reconciler.yaml']).toBe('17259892228251875585');
  });
});
