import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { temporaryDirectory, writeFiles } from '../../../scheduler/file-tree.ts';
import { chart, deployment, importFiles, notesOf, summary } from './import-world.ts';

const HERE = 'https://git.example/acme/deployments';

const application = (name: string, spec: string, metadata = ''): string => `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: ${name}
  namespace: argocd
${metadata}spec:
  project: default
  destination: {server: https://kubernetes.default.svc, namespace: ${name}}
  syncPolicy: {automated: {prune: true}, syncOptions: [CreateNamespace=true]}
${spec}`;

const source = (path: string, more = ''): string =>
  `  source:\n    repoURL: ${HERE}.git\n    path: ${path}\n    targetRevision: HEAD\n${more}`;

const applicationSet = (name: string, spec: string): string =>
  `apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: ${name}, namespace: argocd}\nspec:\n${spec}`;

const template = (name: string, path: string, destination: string): string => `  template:
    metadata: {name: '${name}'}
    spec:
      project: default
      destination: ${destination}
      source: {repoURL: ${HERE}, path: '${path}', targetRevision: HEAD}
      syncPolicy: {automated: {prune: true}}
`;

const CLUSTERS = `- {name: edge-1, server: https://edge-1.example, labels: {env: prod, region: north}}
- {name: edge-2, server: https://edge-2.example, labels: {env: prod, region: south}}
- {name: lab, server: https://lab.example, labels: {env: dev}}
`;

const web = {
  'web/base/kustomization.yaml': 'resources: [web.yaml]\n',
  'web/base/web.yaml': deployment('web'),
  'web/north/kustomization.yaml': 'resources: [../base]\nnameSuffix: -north\n',
  'web/south/kustomization.yaml': 'resources: [../base]\nnameSuffix: -south\n',
  'web/settings/north.json': '{"site": {"name": "n"}, "cluster": "edge-1"}',
  'web/settings/south.json': '{"site": {"name": "s"}, "cluster": "edge-2"}',
};

describeWith(['helm', 'kustomize'], 'importing a repository of Argo CD', (paths) => {
  const programs = [paths.helm, paths.kustomize];
  const importThese = async (files: Readonly<Record<string, string>>, more = {}) => {
    const directory = await temporaryDirectory();
    await writeFiles(directory, { 'clusters.yaml': CLUSTERS });
    return await importFiles(files, programs, {
      tool: 'argocd',
      addresses: [HERE],
      clustersFile: join(directory, 'clusters.yaml'),
      ...more,
    });
  };

  it('writes directories, kustomizations and charts with their options', async () => {
    const { report, files } = await importThese({
      ...web,
      ...chart('chart'),
      'chart/north.yaml': 'replicas: 4\n',
      'plain/a.yaml': deployment('a'),
      'plain/deeper/b.yaml': deployment('b'),
      'plain/skip.yaml': deployment('skipped'),
      'apps/plain.yaml': application(
        'plain',
        source('plain', '    directory: {recurse: true, exclude: "skip*"}\n'),
      ),
      'apps/kustomized.yaml': application(
        'kustomized',
        source(
          'web/north',
          '    kustomize:\n      namePrefix: eu-\n      images: ["registry.example/web=mirror.example/web:2.0"]\n      commonAnnotations: {team: web}\n',
        ),
      ),
      'apps/charted.yaml': application(
        'charted',
        source(
          'chart',
          '    helm:\n      releaseName: own\n      valueFiles: [north.yaml]\n      values: "motto: calm"\n      parameters: [{name: motto, value: "true", forceString: true}]\n',
        ),
      ),
      'apps/several.yaml': application(
        'several',
        `  sources:
    - {repoURL: ${HERE}, ref: values, targetRevision: HEAD}
    - {repoURL: charts.example/stable, chart: cache, targetRevision: 1.2.3, helm: {valueFiles: [$values/chart/north.yaml]}}
    - {repoURL: ${HERE}, path: plain, targetRevision: HEAD}
`,
      ),
    });
    expect(summary(report)).toEqual([
      'in-cluster: 10 equal',
      'in-cluster: chart equal oci://charts.example/stable/cache 1.2.3',
    ]);
    expect(files['apps/charted/live-in-cluster/values.yaml']).toContain('motto: "true"');
    expect(files['apps/several/live-in-cluster/values.yaml']).toBe('replicas: 4\n');
    expect(files['apps/namespace-plain/live-in-cluster/objects.yaml']).toContain('kind: Namespace');
    expect(files['base/workloads/plain.yaml']).toContain('fleet-ferry/allow-namespaces: plain');
  });

  it('makes the Applications of list, git, clusters, matrix and merge generators', async () => {
    const { report } = await importThese({
      ...web,
      'sets/list.yaml': applicationSet(
        'list',
        `  generators: [{list: {elements: [{region: north, cluster: edge-1}, {region: south, cluster: edge-2}]}}]\n${template('list-{{region}}', 'web/{{region}}', "{name: '{{cluster}}', namespace: list}")}`,
      ),
      'sets/folders.yaml': applicationSet(
        'folders',
        `  goTemplate: true\n  generators: [{git: {repoURL: ${HERE}, revision: HEAD, directories: [{path: web/*}, {path: web/base, exclude: true}, {path: web/settings, exclude: true}]}}]\n${template('folder-{{.path.basename}}', '{{.path.path}}', '{name: lab, namespace: "folder-{{index .path.segments 1}}"}')}`,
      ),
      'sets/files.yaml': applicationSet(
        'files',
        `  generators: [{git: {repoURL: ${HERE}, revision: HEAD, files: [{path: 'web/**/*.json'}]}}]\n${template('file-{{site.name}}', 'web/base', "{name: '{{cluster}}', namespace: 'file-{{path.filenameNormalized}}'}")}`.replace(
          'file-{{path.filenameNormalized}}',
          'file',
        ),
      ),
      'sets/clusters.yaml': applicationSet(
        'clusters',
        `  goTemplate: true\n  generators: [{clusters: {selector: {matchLabels: {env: prod}}, values: {tier: 'x-{{.metadata.labels.region}}'}}}]\n${template('{{.name}}-{{.values.tier}}', 'web/{{.metadata.labels.region}}', '{server: "{{.server}}", namespace: clusters}')}`,
      ),
      'sets/matrix.yaml': applicationSet(
        'matrix',
        `  generators: [{matrix: {generators: [{list: {elements: [{region: north}]}}, {clusters: {selector: {matchLabels: {region: '{{region}}'}}}}]}}]\n${template('matrix-{{name}}', 'web/{{region}}', "{name: '{{name}}', namespace: matrix}")}`,
      ),
      'sets/merge.yaml': applicationSet(
        'merge',
        `  generators: [{merge: {mergeKeys: [name], generators: [{clusters: {selector: {matchLabels: {env: prod}}, values: {folder: north}}}, {list: {elements: [{name: edge-2, values.folder: south}]}}]}}]\n${template('merge-{{name}}', 'web/{{values.folder}}', "{name: '{{name}}', namespace: merge}")}`,
      ),
    });
    expect(summary(report)).toEqual(['edge-1: 5 equal', 'edge-2: 4 equal', 'lab: 2 equal']);
    const names = (cluster: string) =>
      report.clusters
        .filter((one) => one.cluster === cluster)
        .flatMap(({ objects }) => objects.map(({ object }) => object));
    expect(names('edge-1')).toEqual([
      'apps/Deployment clusters/web-north',
      'apps/Deployment file/web',
      'apps/Deployment list/web-north',
      'apps/Deployment matrix/web-north',
      'apps/Deployment merge/web-north',
    ]);
    expect(names('edge-2')).toContain('apps/Deployment merge/web-south');
    expect(names('lab')).toEqual([
      'apps/Deployment folder-north/web-north',
      'apps/Deployment folder-south/web-south',
    ]);
  });

  it('follows Applications that a folder or a chart brings, in their waves, from a root that is named', async () => {
    const wave = (number: number): string => `  annotations: {argocd.argoproj.io/sync-wave: "${number}"}\n`;
    const { report, files } = await importThese(
      {
        ...web,
        'root/Chart.yaml': 'apiVersion: v2\nname: root\nversion: 1.0.0\n',
        'root/templates/apps.yaml': [
          application('first', source('web/north'), wave(-1)),
          application('second', source('web/south'), wave(2)),
        ].join('---\n'),
        'root/templates/secret.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: correct-horse}\n',
      },
      { roots: ['root'] },
    );
    expect(summary(report)).toEqual(['in-cluster: 5 equal']);
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(files['apps/second/workload/workload.yaml']).toContain('- first-in-cluster');
  });

  it('leaves Applications out of the folder that brings them, and copies no file that has nothing else', async () => {
    const { report, files } = await importThese(
      {
        ...web,
        'root/apps.yaml': application('north', source('web/north')),
        'root/mixed.yaml': `${application('south', source('web/south'))}---\n${deployment('mixed')}`,
      },
      { roots: ['root'] },
    );
    expect(summary(report)).toEqual(['in-cluster: 5 equal']);
    expect(Object.keys(files).filter((file) => file.startsWith('sources/repository/root/'))).toEqual([
      'sources/repository/root/kustomization.yaml',
      'sources/repository/root/mixed.yaml',
    ]);
  });

  it('makes a project a workspace, and carries fields to ignore and objects not to prune', async () => {
    const { report, files } = await importThese({
      ...web,
      'project.yaml':
        'apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team-a, namespace: argocd}\nspec: {sourceRepos: ["*"]}\n',
      'app.yaml': application(
        'web',
        `${source('web/base')}  ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}]\n`,
      )
        .replace('project: default', 'project: team-a')
        .replace('prune: true', 'selfHeal: true'),
    });
    expect(summary(report)).toEqual(['in-cluster: 2 equal']);
    expect(files['base/workloads/web.yaml']).toContain('workspace: team-a');
    expect(files['apps/web/workload/workload.yaml']).toContain('fleet-ferry/ignore: /spec/replicas');
    expect(files['apps/web/workload/workload.yaml']).toContain('fleet-ferry/prune: disabled');
  });

  it('lists what it cannot write, with file and line', async () => {
    const { report } = await importThese({
      ...web,
      'web/base/job.yaml': 'apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: once-}\nspec: {}\n',
      'app.yaml': application('web', source('web/base')),
      'plugin.yaml': application('plugin', source('web/base', '    plugin: {name: cue}\n')),
      'elsewhere.yaml': application('elsewhere', source('web').replace(HERE, 'https://git.example/other')),
      'pulls.yaml': applicationSet(
        'pulls',
        `  generators: [{pullRequest: {}}]\n${template('x', 'web', '{name: lab}')}`,
      ),
      'none.yaml': applicationSet(
        'none',
        `  generators: [{clusters: {selector: {matchLabels: {env: nowhere}}}}]\n${template('x', 'web', '{name: lab}')}`,
      ),
    });
    expect(notesOf(report, 'unmapped')).toEqual([
      'elsewhere.yaml:1 Application elsewhere: its repository https://git.example/other.git is not this one',
      'none.yaml:1 ApplicationSet none: no known cluster has the labels that it selects',
      'plugin.yaml:1 Application plugin: a plugin of Argo CD renders it',
      'pulls.yaml:1 ApplicationSet pulls: the generator pullRequest asks a service',
    ]);
  });

  it('keeps Applications apart that have one name in several namespaces', async () => {
    const there = application('web', source('web/south')).replace('namespace: argocd', 'namespace: team-a');
    const { report, files } = await importThese({
      ...web,
      'a.yaml': application('web', source('web/north')),
      'b.yaml': there,
      'again.yaml': there,
    });
    expect(summary(report)).toEqual(['in-cluster: 3 equal']);
    expect(Object.keys(files).filter((file) => file.startsWith('base/workloads/'))).toEqual([
      'base/workloads/argocd-web.yaml',
      'base/workloads/namespace-web.yaml',
      'base/workloads/team-a-web.yaml',
    ]);
  });

  it('copies no secret of patches in an Application, also where the Application is copied', async () => {
    const patches = `    kustomize:
      patches:
        - target: {kind: Secret}
          patch: |-
            - {op: add, path: /stringData/token, value: correct-horse}
`;
    const { report, files } = await importThese(
      {
        'db/kustomization.yaml': 'resources: [db.yaml]\n',
        'db/db.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: correct-horse}\n',
        'root/mixed.yaml': `${application('db', source('db', patches))}---\n${deployment('mixed')}`,
      },
      { roots: ['root'] },
    );
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(summary(report)).toEqual(['in-cluster: 3 equal']);
    expect(files['apps/db/live-in-cluster/source/db/db.yaml']).toContain(
      'password=db.password,token=db.token',
    );
    expect(notesOf(report, 'decide')).toContain(
      'root/mixed.yaml:1 Secret of any name: its values (token) are not copied',
    );
  });

  it.each([
    ['a comment without a space before it', 'stringData:\n  password: "correct-horse"#old\n'],
    ['a text continued at the start of a line', 'stringData:\n  password: "correct-horse\nbattery"\n'],
  ])('holds a file that Kustomize reads and the import cannot: %s', async (_, secret) => {
    const { report, files } = await importThese({
      'a.yaml': application('db', source('db')),
      'db/kustomization.yaml': 'resources: [db.yaml, db-tls.yaml]\n',
      'db/db.yaml': deployment('db'),
      'db/db-tls.yaml': `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n${secret}`,
    });
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(JSON.stringify(report)).not.toContain('correct-horse');
    expect(notesOf(report, 'decide')).toEqual([
      expect.stringMatching(
        /^db\/db-tls\.yaml:\d db\/db-tls\.yaml: it is not copied: its YAML has a mistake/,
      ) as string,
    ]);
    expect(summary(report)).toContainEqual(
      expect.stringMatching(/^in-cluster: held .*db-tls\.yaml/) as string,
    );
  });

  it('names a text with a mistake by its place and reads the others', async () => {
    const { report } = await importThese({
      ...chart('charts/web'),
      'charts/web/edge.yaml': 'motto: [\n',
      'a.yaml': application('a', source('charts/web', '    helm: {valueFiles: [edge.yaml]}\n')),
      'b.yaml': application('b', source('charts/web', "    helm: {values: 'motto: ['}\n")),
      'c.yaml': application('c', source('charts/web')),
      'd/broken.yaml': 'site: [\n',
      'd/whole.json': '{"site": "north"}',
      'd.yaml': applicationSet(
        'd',
        `  generators: [{git: {repoURL: ${HERE}, revision: HEAD, files: [{path: d/*}]}}]\n${template('d-{{site}}', 'charts/web', '{name: edge-1, namespace: d}')}`,
      ),
      'e.yaml': applicationSet(
        'e',
        `  goTemplate: true\n  generators: [{list: {elements: [{site: south}]}}]\n${template('e', 'charts/web', '{name: edge-1, namespace: e}')}  templatePatch: 'spec: ['\n`,
      ),
    });
    const mistake =
      'its YAML has a mistake: flow sequence in block collection must be sufficiently indented and end with a ]';
    expect(notesOf(report, 'unmapped')).toEqual([
      `b.yaml:1 Application b: ${mistake}`,
      `charts/web/edge.yaml:2 Application a: ${mistake}`,
      `d/broken.yaml:2 ApplicationSet d: ${mistake}`,
      `e.yaml:1 ApplicationSet e: ${mistake}`,
    ]);
    expect(summary(report)).toEqual(['edge-1: 1 equal', 'in-cluster: 2 equal']);
  });

  it('keeps clusters apart that have one host', async () => {
    const on = (id: string, text: string): string =>
      text.replace('https://kubernetes.default.svc', `https://rancher.example:8443/k8s/clusters/${id}/`);
    const { report } = await importThese({
      ...web,
      'a.yaml': on('c-a', application('a', source('web/north'))),
      'b.yaml': on('c-b', application('b', source('web/south'))),
    });
    expect(summary(report)).toEqual([
      'rancher.example-8443-k8s-clusters-c-a: 2 equal',
      'rancher.example-8443-k8s-clusters-c-b: 2 equal',
    ]);
  });

  it('refuses a repository without Applications, and a file that is not a list of clusters', async () => {
    await expect(importThese(web)).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--root <folder>') as string,
    });
    const directory = await temporaryDirectory();
    await writeFiles(directory, { 'clusters.yaml': 'name: edge\n' });
    await expect(importThese(web, { clustersFile: join(directory, 'clusters.yaml') })).rejects.toMatchObject({
      code: 'USAGE',
      message: expect.stringContaining('is not a list of clusters') as string,
    });
  });
});
