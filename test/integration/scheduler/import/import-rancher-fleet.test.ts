import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { temporaryDirectory, writeFiles } from '../../../scheduler/file-tree.ts';
import { chart, deployment, importFiles, notesOf, summary } from './import-world.ts';

const HERE = 'https://git.example/acme/fleet-repo';

const gitRepo = (name: string, spec: string): string =>
  `apiVersion: fleet.cattle.io/v1alpha1\nkind: GitRepo\nmetadata: {name: ${name}, namespace: fleet-default}\nspec:\n  repo: ${HERE}.git\n  branch: main\n${spec}`;

const repository = {
  'plain/fleet.yaml': `namespace: plain
targetCustomizations:
  - name: dev
    clusterSelector: {matchLabels: {env: dev}}
    yaml: {overlays: [more]}
  - name: prod
    clusterSelector: {matchLabels: {env: prod}}
    yaml: {overlays: [scaled, more]}
`,
  'plain/web.yaml': deployment('web'),
  'plain/deeper/other.yaml': deployment('other'),
  'plain/overlays/scaled/web_patch.yaml': 'spec:\n  replicas: 5\n',
  'plain/overlays/more/added.yaml': deployment('added'),
  'plain/overlays/more/deeper/other.yaml': deployment('other').replace('replicas: 1', 'replicas: 2'),
  'plain/nested/fleet.yaml': 'defaultNamespace: nested\nkeepResources: true\n',
  'plain/nested/web.yaml': deployment('web'),
  'kustomized/fleet.yaml': `namespace: kustomized
kustomize: {dir: base}
targetCustomizations:
  - {clusterSelector: {matchLabels: {env: prod}}, kustomize: {dir: prod}}
`,
  'kustomized/base/kustomization.yaml': 'resources: [web.yaml]\n',
  'kustomized/base/web.yaml': deployment('web').replace(
    'name: web\nspec',
    'name: web\n  namespace: other\nspec',
  ),
  'kustomized/prod/kustomization.yaml': 'resources: [../base]\nnamePrefix: prod-\n',
  'charted/fleet.yaml': `defaultNamespace: charted
dependsOn: [{name: apps-plain}]
helm:
  releaseName: motto
  values: {motto: "\${ .ClusterLabels.env }", replicas: 2}
  valuesFiles: [more.yaml]
targetCustomizations:
  - {clusterSelector: {matchLabels: {env: prod}}, helm: {values: {replicas: 9}}}
`,
  'charted/more.yaml': 'replicas: 1\nextra: 1\n',
  ...chart('charted'),
  'elsewhere/fleet.yaml':
    'defaultNamespace: elsewhere\nhelm: {releaseName: cache, repo: "https://charts.example/stable", chart: cache, version: 1.2.3, values: {size: 2}}\n',
};

const named = {
  ...repository,
  'gitrepo.yaml': gitRepo('apps', '  paths: [plain, kustomized, charted, elsewhere]\n'),
};

describeWith(['helm', 'kustomize'], 'importing a repository of Rancher Fleet', (paths) => {
  const programs = [paths.helm, paths.kustomize];
  const importThese = async (files: Readonly<Record<string, string>>, more = {}) =>
    await importFiles(files, programs, { tool: 'rancher-fleet', addresses: [HERE], ...more });

  it('writes bundles with overlays and the changes of targets, for each class of clusters', async () => {
    const { report, files } = await importThese(named);
    expect(summary(report)).toEqual([
      'dev: 11 equal',
      'dev: chart equal https://charts.example/stable/cache 1.2.3',
      'prod: 11 equal',
      'prod: chart equal https://charts.example/stable/cache 1.2.3',
    ]);
    const workload = files['apps/apps-charted/workload/workload.yaml'] ?? '';
    expect(workload).toContain('- apps-plain-');
    expect(files['apps/apps-charted/live-dev/values.yaml']).toBe('replicas: 2\nextra: 1\nmotto: dev\n');
    expect(files['apps/apps-charted/live-prod/values.yaml']).toContain('replicas: 9');
    expect(files['apps/apps-plain/live-prod/kustomization.yaml']).toContain('replicas: 5');
    expect(files['apps/apps-plain-nested/workload/workload.yaml']).toContain('fleet-ferry/prune: disabled');
    expect(files['environments/live/cluster-types/prod.yaml']).toContain('env: prod');
    expect(notesOf(report, 'told')).toContainEqual(
      expect.stringContaining('a cluster type for each selector: dev, prod'),
    );
  });

  it('keeps selectors apart whose labels have the same value', async () => {
    const only = (label: string): string =>
      `defaultNamespace: web\ntargets:\n  - {clusterSelector: {matchLabels: {${label}: edge}}}\n  - {doNotDeploy: true}\n`;
    const { report } = await importThese({
      'a/fleet.yaml': only('kind'),
      'a/web.yaml': deployment('a'),
      'b/fleet.yaml': only('tier'),
      'b/web.yaml': deployment('b'),
    });
    expect(summary(report)).toEqual(['edge: 2 equal', 'tier-edge: 2 equal']);
  });

  it('selects clusters of a file by labels and groups, and leaves out a bundle that a target does not deploy', async () => {
    const directory = await temporaryDirectory();
    await writeFiles(directory, {
      'clusters.yaml':
        '- {name: plant-1, labels: {env: prod, region: north}}\n- {name: plant-2, labels: {env: prod}}\n- {name: lab, labels: {env: dev}}\n',
    });
    const { report, files } = await importThese(
      {
        'web/fleet.yaml': `namespace: web
targetCustomizations:
  - {clusterGroup: north, doNotDeploy: true}
  - {clusterSelector: {matchExpressions: [{key: env, operator: In, values: [dev]}]}, namespace: lab}
`,
        'web/web.yaml': deployment('web'),
        'group.yaml':
          'apiVersion: fleet.cattle.io/v1alpha1\nkind: ClusterGroup\nmetadata: {name: north}\nspec: {selector: {matchLabels: {region: north}}}\n',
        'repo.yaml': gitRepo(
          'web',
          '  paths: [web]\n  targets: [{clusterSelector: {matchLabels: {env: prod}}}, {clusterName: lab}]\n',
        ),
      },
      { clustersFile: join(directory, 'clusters.yaml') },
    );
    expect(
      report.clusters.flatMap(({ cluster, objects }) =>
        objects.map(({ object, state }) => `${cluster}: ${state} ${object}`),
      ),
    ).toEqual([
      'lab: equal Namespace lab',
      'lab: equal apps/Deployment lab/web',
      'plant-2: equal Namespace web',
      'plant-2: equal apps/Deployment web/web',
    ]);
    expect(files['environments/live/cluster-types/plant-1.yaml']).toContain('region: north');
  });

  it('lists what it cannot write, with file and line', async () => {
    const { report } = await importThese({
      'web/fleet.yaml': 'namespace: web\n',
      'web/web.yaml': deployment('web'),
      'paused/fleet.yaml': 'paused: true\n',
      'paused/web.yaml': deployment('web'),
      'archive/fleet.yaml': 'helm: {releaseName: a, chart: "https://charts.example/a-1.0.0.tgz"}\n',
      'both/fleet.yaml':
        'helm: {releaseName: b, chart: b, repo: "https://charts.example"}\nkustomize: {dir: overlay}\n',
      'other.yaml': gitRepo('other', '').replace(HERE, 'https://git.example/other'),
    });
    expect(notesOf(report, 'unmapped')).toEqual([
      'archive/fleet.yaml:1 bundle archive: its chart is the file https://charts.example/a-1.0.0.tgz',
      'both/fleet.yaml:1 bundle both: it changes the objects of a chart by Kustomize, which nothing here does',
      'other.yaml:1 GitRepo other: its repository https://git.example/other.git is not this one',
      'paused/fleet.yaml:1 bundle paused: it is paused, so Fleet changes nothing of it',
    ]);
    expect(summary(report)).toEqual(['default: 2 equal']);
  });

  it('takes folders without a fleet.yaml from a flag, and refuses a repository without bundles', async () => {
    const { report } = await importThese({ 'simple/web.yaml': deployment('web') }, { roots: ['simple'] });
    expect(summary(report)).toEqual(['default: 1 equal']);
    await expect(importThese({ 'simple/web.yaml': deployment('web') })).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--root <folder>') as string,
    });
  });
});
