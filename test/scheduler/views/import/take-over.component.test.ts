import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { problemsOf } from '../../../../scheduler/model/problems.ts';
import { describeTakeover } from '../../../../scheduler/views/import/describe-takeover.ts';
import { takeOver } from '../../../../scheduler/views/import/take-over.ts';
import { readTree, temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { CONTROL_PLANE, kalypsoDev, kalypsoMain, SHOP, shopRepository } from '../../kalypso-platform.ts';

const { signal } = new AbortController();
const OLD = '1'.repeat(40);
const NEW = '2'.repeat(40);

/** dev is pinned to a newer commit than prod, which has other text for one template and no schema yet. */
const openTwo = async () => {
  const directory = await temporaryDirectory();
  const main = kalypsoMain();
  const prod = (text: string): string =>
    text.replaceAll('name: dev', 'name: prod').replaceAll('branch: dev', 'branch: prod');
  const both = { ...main, '.environments/prod.yaml': prod(main['.environments/dev.yaml'] as string) };
  await writeFiles(join(directory, 'new'), {
    ...both,
    'schema.yaml': `# Everybody says where the shop is.
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ConfigSchema
metadata:
  name: shop
spec:
  schema: '{"type": "object"}'
`,
  });
  await writeFiles(join(directory, 'old'), {
    ...both,
    'templates/all.yaml': (main['templates/all.yaml'] as string).replace('target: ', 'older: '),
  });
  await writeFiles(join(directory, 'dev'), kalypsoDev(CONTROL_PLANE, NEW));
  await writeFiles(join(directory, 'prod'), kalypsoDev(CONTROL_PLANE, OLD));
  await writeFiles(join(directory, 'shop'), shopRepository());
  const map = (repo: string, ref: string | undefined, to: string) => ({
    repo,
    ...(ref !== undefined && { ref }),
    directory: join(directory, to),
  });
  return {
    platform: join(directory, 'new'),
    maps: [
      map(CONTROL_PLANE, NEW, 'new'),
      map(CONTROL_PLANE, OLD, 'old'),
      map(CONTROL_PLANE, 'dev', 'dev'),
      map(CONTROL_PLANE, 'prod', 'prod'),
      map(SHOP, undefined, 'shop'),
    ],
    cacheDirectory: join(directory, 'cache'),
    env: {},
    fleet: 'acme',
    environments: ['dev', 'prod'],
    to: join(directory, 'taken'),
    signal,
  };
};

describe('importing a Kalypso control plane', () => {
  test('writes one base, and only the differences for each environment', async () => {
    const options = await openTwo();
    const report = await takeOver(options);
    const files = await readTree(options.to);
    expect(Object.keys(files)).toEqual([
      '.gitignore',
      'base/main/schema.yaml',
      'base/main/templates/all.yaml',
      'base/main/workloads/shop.yaml',
      'environments/dev/configs/eu.yaml',
      'environments/dev/policies/all.yaml',
      'environments/dev/types/edge.yaml',
      'environments/prod/configs/eu.yaml',
      'environments/prod/from-main/templates/all.yaml',
      'environments/prod/policies/all.yaml',
      'environments/prod/types/edge.yaml',
      'fleet-scheduler.yaml',
      'fleet.yaml',
    ]);
    expect(report.written).toEqual(Object.keys(files));
    expect(files['environments/prod/from-main/templates/all.yaml']).toContain('older: ');
    expect(files['environments/prod/from-main/templates/all.yaml']).not.toContain('name: ns');
  });

  test('lists what an environment does not have yet, and overwrites without a prompt', async () => {
    const options = await openTwo();
    const report = await takeOver(options);
    expect(report.notes.map(({ subject, message }) => `${subject}: ${message}`)).toEqual([
      'ConfigSchema shop: prod does not have this at the commit it is pinned to; with one base for all it will',
    ]);
    expect(describeTakeover(report, options.to).at(-3)).toMatch(
      /^note: .*schema\.yaml:2:1: REFERENCE_MISSING: /,
    );
    await writeFiles(options.to, { 'mine.txt': 'mine' });
    await expect(takeOver(options)).rejects.toMatchObject({ code: 'USAGE' });
  });

  test('reports the position of a value that is equal as JSON but printed differently', async () => {
    const options = await openTwo();
    const configs = options.maps.find(({ ref }) => ref === 'dev')?.directory ?? '';
    await writeFiles(configs, {
      'configs/switch.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: switch
  labels: {platform-config: "true"}
data:
  SWITCH: "on: 8"
`,
    });
    const report = await takeOver({ ...options, environments: ['dev'] });
    const lines = describeTakeover(report, options.to).filter((line) => line.includes('SWITCH'));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /value SWITCH: \{"true":8\} has keys or numbers in Kalypso \(.*switch\.yaml:7:11\) that are text here \(.*switch\.yaml:8:5\), in /,
    );
  });

  test('without a destination only compares', async () => {
    const { to: _, ...options } = await openTwo();
    const report = await takeOver(options);
    expect(report.written).toEqual([]);
    expect(report.environments.map((one) => [one.environment, one.taken])).toEqual([
      ['dev', undefined],
      ['prod', undefined],
    ]);
  });

  test('reports the problems of every environment', async () => {
    const options = await openTwo();
    for (const ref of ['dev', 'prod']) {
      const broken = options.maps.find((one) => one.ref === ref)?.directory ?? '';
      await writeFiles(broken, {
        [`types/${ref}.yaml`]: 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Nothing\n',
      });
    }
    const error: unknown = await takeOver(options).catch((thrown: unknown) => thrown);
    expect(problemsOf(error).map(({ code, at }) => [code, at?.file.split('/').slice(-2).join('/')])).toEqual([
      ['UNKNOWN_KIND', 'types/dev.yaml'],
      ['UNKNOWN_KIND', 'types/prod.yaml'],
    ]);
  });

  test('compares the readable environments, reports the others, and writes nothing', async () => {
    const options = await openTwo();
    const prod = options.maps.find(({ ref }) => ref === 'prod')?.directory ?? '';
    await writeFiles(prod, {
      'types/prod.yaml': 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Nothing\n',
    });
    const report = await takeOver(options);
    expect(report.environments.map(({ environment }) => environment)).toEqual(['dev']);
    expect(report.broken).toMatchObject([{ environment: 'prod', errors: [{ code: 'UNKNOWN_KIND' }] }]);
    expect(report.written).toEqual([]);
    const lines = describeTakeover(report, options.to);
    expect(lines[0]).toMatch(/^dev: \d+ assignments? rendered, 0 held$/);
    expect(lines).toContain('prod: not compared, as it cannot be read');
    expect(lines.at(-1)).toBe(`Nothing was written to ${options.to}: it would have no prod`);
    await expect(readTree(options.to)).rejects.toThrow();
  });

  test('reports how a file differs from the published one', async () => {
    const options = await openTwo();
    const { to: _, ...looking } = options;
    const gitOps = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: GitOpsRepo
metadata: {name: out}
spec: {repo: https://example.com/out, branch: dev, path: .}
`;
    const dev = options.maps.find(({ ref }) => ref === 'dev')?.directory ?? '';
    await writeFiles(dev, { 'gitops.yaml': gitOps });
    const published = await temporaryDirectory();
    await writeFiles(published, { 'edge/shop-web/reconciler.yaml': 'target: shop-web\npath: ./old\n' });
    const maps = [...options.maps, { repo: 'https://example.com/out', ref: 'dev', directory: published }];
    const report = await takeOver({ ...looking, maps, environments: ['dev'] });
    const line = describeTakeover(report, undefined).find((one) => one.includes('differs'));
    expect(line).toMatch(
      /differs: edge\/shop-web\/reconciler\.yaml, line 2: published "path: \.\/old", rendered "path: /,
    );
  });

  test('writes a configuration, so that the next command works in its folder', async () => {
    const options = await openTwo();
    const report = await takeOver(options);
    expect(describeTakeover(report, options.to).at(-1)).toBe(
      `Next: cd ${options.to} && fleet-scheduler validate; then promotedFrom in fleet.yaml chains the environments`,
    );
    const { platform, layout } = await readConfiguration({}, options.to);
    expect([platform, layout]).toEqual([options.to, join(options.to, '.fleet/layout')]);
  });

  test('refuses a platform in the fleet form', async () => {
    const options = await openTwo();
    await takeOver(options);
    await expect(takeOver({ ...options, platform: options.to, to: undefined })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('our form already') as string,
    });
  });
});

test('items of a List, and objects renamed by a kustomization, are written separately', async () => {
  const options = await openTwo();
  const dev = kalypsoDev(CONTROL_PLANE, NEW);
  const list = { apiVersion: 'v1', kind: 'List', items: [parse(dev['configs/eu.yaml'] ?? '') as unknown] };
  await writeFiles(join(options.to, '../dev'), {
    'configs/eu.yaml': JSON.stringify(list),
    'types/kustomization.yaml': 'namePrefix: north-\ncommonLabels: {site: hall}\nresources: [edge.yaml]\n',
    'types/draft.yaml': 'apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Nothing\n',
  });
  const { environments } = await takeOver({ ...options, environments: ['dev'] });
  const { files, values, held } = environments[0]?.taken ?? {};
  expect([values, held]).toEqual([[], []]);
  expect(files).toMatchObject({ changed: [], onlyBefore: [], onlyAfter: [] });
  const written = await readTree(options.to);
  expect(parse(written['environments/dev/types/edge.yaml'] ?? '')).toMatchObject({
    metadata: { name: 'north-edge', labels: { region: 'eu', site: 'hall' } },
  });
  expect(parse(written['environments/dev/configs/eu.yaml'] ?? '')).toMatchObject({ kind: 'ConfigMap' });
});
