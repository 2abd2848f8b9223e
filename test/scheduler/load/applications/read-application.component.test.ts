import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readApplication } from '../../../../scheduler/load/applications/read-application.ts';
import type { DeploymentTarget, Target } from '../../../../scheduler/model/model.ts';
import { openSources } from '../../../../scheduler/load/sources/open-sources.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { platform, target } from '../../model-objects.ts';
import { toldLater } from '../../told.ts';

const MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n';

const world = async (files: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
  const sources = openSources({ maps: [], cacheDirectory: join(directory, '.cache'), env: {} });
  const location = { kind: 'directory', directory, shown: 'apps/shop' } as const;
  const one = platform({ repositories: new Map([['shop', { location, path: '.' }]]) });
  const read = (manifests: DeploymentTarget['manifests'], appliedTo: Target = 'kubernetes') =>
    readApplication(sources, one, target('shop/web', { registration: 'shop', manifests }), appliedTo);
  return { read, directory };
};

describe("an application's files", () => {
  it('are read as plain manifests by default', async () => {
    const { read } = await world({ 'web/a.yaml': MAP, 'web/readme.md': '' });
    const { source, snapshots } = await read({ path: 'web' });
    expect(source).toMatchObject({ kind: 'plain', application: { shown: 'apps/shop/web/' } });
    expect(source.kind === 'plain' && [...source.application.files.keys()]).toEqual(['a.yaml', 'readme.md']);
    expect(snapshots.map(({ role, path }) => [role, path])).toEqual([['application/shop-web', 'web']]);
  });

  it('are a chart with a Chart.yaml, a kustomization with a kustomization file, and plain files for a host', async () => {
    const { read } = await world({
      'chart/Chart.yaml': 'name: a',
      'over/kustomization.yml': 'resources: [a.yaml]\nnamePrefix: b-\n',
      'over/a.yaml': MAP,
    });
    expect((await read({ path: 'chart' })).source.kind).toBe('helm');
    expect((await read({ path: 'over' })).source.kind).toBe('kustomize');
    expect((await read({ path: 'over' }, 'host')).source.kind).toBe('plain');
    expect((await read({ path: 'chart' }, 'host')).source.kind).toBe('plain');
    expect((await read({ path: 'over', type: 'plain' })).source.kind).toBe('plain');
    expect(await toldLater(read({ path: 'over', type: 'helm' }))).toContain(
      'there is no Chart.yaml in apps/shop/over/',
    );
  });

  it("exclude Kalypso's DeploymentDescriptor, whose version they have", async () => {
    const descriptor = (name: string, version: string): string => `apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
metadata: {name: shop}
spec:
  workload: {name: shop, source: {repo: "https://git.example/shop", branch: main, path: .}}
  deploymentTarget: {name: ${name}, environment: dev}
  workloadVersion: {version: ${version}, commit: ${'a'.repeat(40)}}
`;
    const { read } = await world({
      'web/a.yaml': MAP,
      'web/descriptor/d.yaml': descriptor('web', '0.0.1-41'),
      'both/a.yaml': `${MAP}---\n${descriptor('web', '"2.0"')}`,
      'two/d.yaml': `${descriptor('other', 'three')}---\n${descriptor('another', 'four')}`,
      'over/kustomization.yaml': 'resources: [a.yaml]\n',
      'over/a.yaml': MAP,
      'over/d.yaml': descriptor('other', 'five'),
    });
    const files = async (path: string, appliedTo?: Target) => {
      const { source, snapshots } = await read({ path }, appliedTo);
      return [
        source.kind === 'plain' ? [...source.application.files.keys()] : source.kind,
        snapshots[0]?.described,
      ];
    };
    const commit = 'a'.repeat(40);
    expect(await files('web')).toEqual([['a.yaml'], { version: '0.0.1-41', commit }]);
    expect(await files('both')).toEqual([['a.yaml'], { version: '2.0', commit }]);
    expect(await files('two')).toEqual([[], undefined]);
    expect(await files('over')).toEqual([['a.yaml'], { version: 'five', commit }]);
    expect(await files('web', 'host')).toEqual([
      ['a.yaml', 'descriptor/d.yaml'],
      { version: '0.0.1-41', commit },
    ]);
  });

  it('need no tool when the kustomization only lists files, or does not exist', async () => {
    const { read } = await world({
      'list/kustomization.yaml': 'resources: [./a.yaml, sub/b.yaml]\n',
      'list/a.yaml': MAP,
      'list/sub/b.yaml': MAP,
      'list/left-out.yaml': MAP,
      'bare/a.yaml': MAP,
    });
    const { source } = await read({ path: 'list' });
    expect(source.kind === 'plain' && [...source.application.files.keys()]).toEqual(['a.yaml', 'sub/b.yaml']);
    const bare = (await read({ path: 'bare', type: 'kustomize' })).source;
    expect(bare.kind === 'plain' && [...bare.application.files.keys()]).toEqual(['a.yaml']);
  });

  it('an overlay includes every folder that it references, and no others', async () => {
    const { read } = await world({
      'over/prod/kustomization.yaml': 'resources: [../../base]\ncomponents: [../../parts/tls]\n',
      'base/kustomization.yaml': 'resources: [a.yaml, sub]\n',
      'base/a.yaml': MAP,
      'base/sub/kustomization.yaml': 'resources: [b.yaml]\n',
      'base/sub/b.yaml': MAP,
      'parts/tls/kustomization.yaml': 'kind: Component\n',
      'parts/other/kustomization.yaml': '',
    });
    const { source, snapshots } = await read({ path: 'over/prod' });
    expect(source.kind === 'kustomize' && [...source.tree.keys()].toSorted()).toEqual([
      'base/a.yaml',
      'base/kustomization.yaml',
      'base/sub/b.yaml',
      'base/sub/kustomization.yaml',
      'over/prod/kustomization.yaml',
      'parts/tls/kustomization.yaml',
    ]);
    expect(snapshots.map(({ path }) => path)).toEqual(['over/prod', 'base', 'parts/tls']);
    expect(source.kind === 'kustomize' && source.shown('base/a.yaml')).toBe('apps/shop/base/a.yaml');
  });

  it('are refused when a kustomization leads out of the repository, in a circle, or to a missing folder', async () => {
    const { read } = await world({
      'out/kustomization.yaml': 'namePrefix: a-\nresources: [../../secrets]\n',
      'gone/kustomization.yaml': 'namePrefix: a-\nresources: [../missing]\n',
      'none/kustomization.yaml': 'namePrefix: a-\nresources: [../plain]\n',
      'plain/a.yaml': MAP,
      'one/kustomization.yaml': 'namePrefix: a-\nresources: [../two]\n',
      'two/kustomization.yaml': 'resources: [../one]\n',
    });
    expect(await toldLater(read({ path: 'out' }))).toContain('leads out of the repository');
    expect(await toldLater(read({ path: 'gone' }))).toContain('SOURCE_MISSING');
    expect(await toldLater(read({ path: 'none' }))).toContain('no folder with a kustomization.yaml');
    expect((await read({ path: 'one' })).source.kind).toBe('kustomize');
  });

  it('N10: of an overlay are not taken where patches make settings of a generator -> FIELD_INVALID', async () => {
    const generator = 'apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\n';
    const { read } = await world({
      'made/kustomization.yaml': 'generators: [../gen]\n',
      'gen/kustomization.yaml':
        'resources: [a.yaml]\npatches: [{patch: "[{op: add, path: /files, value: [http://127.0.0.1:1/x]}]"}]\n',
      'gen/a.yaml': generator,
      'listed/kustomization.yaml': 'generators: [../list]\n',
      'list/kustomization.yaml': 'resources: [a.yaml]\n',
      'list/a.yaml': `${generator}files: ["k=http://127.0.0.1:1/x"]\n`,
      'good/kustomization.yaml': 'generators: [../plain]\n',
      'plain/kustomization.yaml': 'resources: [a.yaml]\n',
      'plain/a.yaml': `${generator}literals: [a=b]\n`,
    });
    const made = read({ path: 'made' });
    await expect(made).rejects.toMatchObject({
      code: 'FIELD_INVALID',
      message: 'gen has generators or transformers and does more than list them',
    });
    await expect(read({ path: 'listed' })).rejects.toMatchObject({
      code: 'FIELD_INVALID',
      at: { file: 'apps/shop/list/a.yaml', line: 4 },
    });
    expect((await read({ path: 'good' })).source.kind).toBe('kustomize');
  });

  it('of a chart have values files from anywhere in the repository, in the given order', async () => {
    const { read } = await world({
      'chart/Chart.yaml': 'name: a',
      'chart/values-prod.yaml': 'a: 1',
      'values/prod.yaml': 'a: 2',
    });
    const { source, snapshots } = await read({
      path: 'chart',
      values: './values-prod.yaml,../values/prod.yaml',
    });
    expect(
      source.kind === 'helm' && source.values.map(({ shown, bytes }) => [shown, bytes.toString()]),
    ).toEqual([
      ['apps/shop/chart/values-prod.yaml', 'a: 1'],
      ['apps/shop/values/prod.yaml', 'a: 2'],
    ]);
    expect(snapshots.map(({ path }) => path)).toEqual(['chart', 'values/prod.yaml']);
    expect(await toldLater(read({ path: 'chart', values: '../values' }))).toContain(
      '../values are not a file',
    );
    expect(await toldLater(read({ path: 'chart', values: '../../x.yaml' }))).toContain('leads out');
  });

  it('of a chart in a registry need no repository', async () => {
    const { read } = await world({});
    const { source, snapshots } = await read({
      chart: 'oci://registry.example/charts/web',
      version: '1.2.3',
    });
    expect(source).toMatchObject({ kind: 'helm', chart: { from: 'elsewhere' }, values: [] });
    expect(snapshots).toEqual([]);
  });
});
