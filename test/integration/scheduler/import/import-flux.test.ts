import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { readTree, temporaryDirectory } from '../../../scheduler/file-tree.ts';
import { chart, deployment, importFiles, notesOf, summary } from './import-world.ts';

const kustomization = (name: string, spec: string): string => `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata:
  name: ${name}
  namespace: flux-system
spec:
  interval: 10m
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
${spec}`;

const sync = (path: string): string => kustomization('flux-system', `  path: ${path}\n`);

/** Two clusters with a base and overlays, a chart of the repository, a chart from elsewhere, variables, patches and a target namespace. */
const fleet = {
  'clusters/staging/apps.yaml': kustomization(
    'apps',
    '  path: ./apps/staging\n  targetNamespace: shop\n  dependsOn: [{name: infrastructure}]\n',
  ),
  'clusters/staging/infrastructure.yaml': kustomization(
    'infrastructure',
    '  path: ./infrastructure\n  postBuild: {substitute: {replicas: "2", region: north}}\n',
  ),
  'clusters/production/apps.yaml': kustomization(
    'apps',
    `  path: ./apps/production
  targetNamespace: shop
  dependsOn: [{name: infrastructure}]
  patches:
    - target: {kind: Deployment, name: web}
      patch: '[{"op": "replace", "path": "/spec/replicas", "value": 5}]'
`,
  ),
  'clusters/production/infrastructure.yaml': kustomization(
    'infrastructure',
    '  path: ./infrastructure\n  prune: false\n  postBuild: {substitute: {replicas: "7"}}\n',
  ),
  'apps/base/kustomization.yaml': 'resources: [web.yaml, release.yaml]\n',
  'apps/base/web.yaml': deployment('web'),
  'apps/base/release.yaml': `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: motto, namespace: shop}
spec:
  interval: 5m
  chart: {spec: {chart: ./charts/web, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  values: {motto: all well}
`,
  'apps/staging/kustomization.yaml': 'resources: [../base]\nnamePrefix: staging-\n',
  'apps/production/kustomization.yaml':
    'resources: [../base]\npatches: [{path: values.yaml, target: {kind: HelmRelease}}]\n',
  'apps/production/values.yaml':
    'apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: motto}\nspec: {values: {replicas: 3}}\n',
  ...chart('charts/web'),
  'infrastructure/namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
  'infrastructure/settings.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: shop}\ndata: {region: "${region:=south}", home: "$${HOME}"}\n',
  'infrastructure/proxy.yaml': deployment('proxy')
    .replace('replicas: 1', 'replicas: ${replicas}')
    .replace('name: proxy\nspec', 'name: proxy\n  namespace: shop\nspec'),
  'infrastructure/cache.yaml': `apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: shop}
spec: {interval: 1h, url: https://charts.example/stable/}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cache, namespace: shop}
spec:
  interval: 5m
  chart: {spec: {chart: cache, version: 1.2.x, sourceRef: {kind: HelmRepository, name: charts}}}
  values: {size: 3, auth: {password: horse-battery}}
`,
};

describeWith(['helm', 'kustomize'], 'importing a repository of Flux', (paths) => {
  const programs = [paths.helm, paths.kustomize];

  it('writes a platform that gives each cluster the same objects', async () => {
    const { report, files } = await importFiles(fleet, programs, { tool: 'flux' });
    expect(summary(report)).toEqual([
      'production: 5 equal',
      'production: chart different https://charts.example/stable/cache 1.2.x',
      'staging: 5 equal',
      'staging: chart different https://charts.example/stable/cache 1.2.x',
    ]);
    expect(files['apps/infrastructure/live-staging/source/infrastructure/proxy.yaml']).toContain(
      'replicas: 2',
    );
    expect(files['apps/infrastructure/live-production/source/infrastructure/settings.yaml']).toContain(
      'south',
    );
    expect(files['environments/live/cluster-types/staging.yaml']).toContain('cluster: staging');
    expect(files['apps/apps/workload/workload.yaml']).toContain('infrastructure-staging');
    expect(files['base/workloads/apps.yaml']).toContain('fleet-ferry/allow-namespaces: shop');
  });

  it('writes objects that are equal on all clusters once', async () => {
    const { files } = await importFiles(
      { ...fleet, 'clusters/production/infrastructure.yaml': fleet['clusters/staging/infrastructure.yaml'] },
      programs,
      { tool: 'flux' },
    );
    expect(files['apps/infrastructure/workload/workload.yaml']).toContain('name: everywhere');
    expect(files['environments/live/policies/clusters.yaml']).toContain('name: everywhere');
  });

  it('puts clusters into the environments that are named, in their order', async () => {
    const { report, files } = await importFiles(fleet, programs, {
      tool: 'flux',
      environments: ['staging=qa', 'production=prod'],
    });
    expect(files['fleet.yaml']).toContain('- name: qa\n    - name: prod');
    expect(report.clusters.map(({ environment, cluster }) => `${environment}/${cluster}`)).toEqual([
      'qa/staging',
      'prod/production',
    ]);
    expect(report.clusters.flatMap(({ objects }) => objects).every(({ state }) => state === 'equal')).toBe(
      true,
    );
  });

  it('keeps numbers and texts that Go and YAML 1.2 read differently, also in a file that it changes', async () => {
    const { report, files } = await importFiles(
      {
        ...fleet,
        'infrastructure/pod.yaml': `apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: shop, annotations: {region: "\${region:=south}", answer: "yes"}}
spec:
  containers: [{name: web, image: "registry.example/web:1"}]
  volumes: [{name: settings, configMap: {name: settings, defaultMode: 0644}}]
`,
        'infrastructure/cache.yaml': fleet['infrastructure/cache.yaml'].replace(
          'values: {size: 3, auth: {password: horse-battery}}',
          'values: {mode: 0644, answer: "yes", id: "1_000"}',
        ),
      },
      programs,
      { tool: 'flux' },
    );
    expect(summary(report)).toContain('staging: 6 equal');
    expect(files['apps/infrastructure/live-staging/source/infrastructure/pod.yaml']).toContain(
      'defaultMode: 0644',
    );
    expect(
      Object.entries(files).filter(([path]) => path.includes('cache') && path.endsWith('/values.yaml')),
    ).toEqual([[expect.any(String), 'mode: 420\nanswer: "yes"\nid: "1_000"\n']]);
  });

  it('copies no secret in clear, and names the sealed set for its values', async () => {
    const { report, files } = await importFiles(
      {
        ...fleet,
        'infrastructure/secret.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\nstringData: {password: correct-horse}\n',
      },
      programs,
      { tool: 'flux' },
    );
    const all = Object.values(files).join('\n');
    expect(all).not.toContain('correct-horse');
    expect(all).not.toContain('horse-battery');
    expect(files['apps/infrastructure/live-staging/source/infrastructure/secret.yaml']).toContain(
      'fleet-ferry/secret-keys: password=db.password',
    );
    expect(notesOf(report, 'decide')).toContain(
      'infrastructure/secret.yaml:1 Secret db: its values (password) are not copied',
    );
    const secret = report.clusters
      .flatMap(({ objects }) => objects)
      .find(({ object }) => object === 'Secret shop/db');
    expect(secret).toMatchObject({ state: 'equal', withoutValues: true });
  });

  it('copies no secret of a list, or of a patch that a Kustomization or a folder has in itself', async () => {
    const secret = (field: string): string =>
      `{apiVersion: v1, kind: Secret, metadata: {name: db, namespace: shop}, stringData: {${field}: correct-horse}}`;
    const { report, files } = await importFiles(
      {
        'clusters/live/apps.yaml': kustomization(
          'apps',
          `  path: ./apps\n  patches:\n    - patch: |\n        ${secret('password')}\n`,
        ),
        'apps/kustomization.yaml': `resources: [list.yaml]\npatches:\n  - patch: |\n      ${secret('password')}\n`,
        'apps/list.yaml': `apiVersion: v1\nkind: List\nitems:\n  - ${secret('password')}\n`,
      },
      programs,
      { tool: 'flux' },
    );
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(summary(report)).toEqual(['live: 1 equal']);
    expect(notesOf(report, 'decide')).toEqual([
      'apps/kustomization.yaml:3 Secret db: its values (password) are not copied',
      'apps/list.yaml:4 Secret db: its values (password) are not copied',
      'clusters/live/apps.yaml:1 Secret db: its values (password) are not copied',
    ]);
  });

  it('copies no secret of JSON patches, in files, folders and Kustomizations, and lists them', async () => {
    const { report, files } = await importFiles(
      {
        'clusters/live/apps.yaml': kustomization(
          'apps',
          `  path: ./apps
  patches:
    - target: {kind: Secret, name: db}
      patch: '[{"op": "add", "path": "/stringData/by-flux", "value": "correct-horse"}]'
`,
        ),
        'apps/kustomization.yaml': `resources: [db.yaml]
patches:
  - target: {kind: Secret}
    path: mixed.yaml
  - target: {name: db}
    path: only.json
patchesJson6902:
  - target: {version: v1, kind: Secret, name: db}
    patch: |-
      - {op: replace, path: /stringData/password, value: correct-horse}
`,
        'apps/mixed.yaml': `- {op: add, path: /metadata/labels, value: {a: b}}
- {op: add, path: /stringData/by-file, value: correct-horse}
`,
        'apps/only.json': '[{"op": "add", "path": "/stringData/by-json", "value": "correct-horse"}]\n',
        'apps/db.yaml':
          'apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop}\nstringData: {user: me, password: correct-horse}\n',
      },
      programs,
      { tool: 'flux' },
    );
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(summary(report)).toEqual(['live: 1 equal']);
    const folder = 'apps/apps/live-live/source/apps';
    expect(files[`${folder}/only.json`]).toBeUndefined();
    expect(files[`${folder}/mixed.yaml`]).toContain('/metadata/labels');
    expect(files[`${folder}/db.yaml`]).toContain(
      'user=db.user,password=db.password,by-flux=db.by-flux,by-file=db.by-file,by-json=db.by-json',
    );
    expect(notesOf(report, 'decide')).toEqual([
      'apps/db.yaml:1 Secret db: its values (user, password) are not copied',
      'apps/kustomization.yaml:9 Secret db: its values (password) are not copied',
      'apps/mixed.yaml:2 Secret of any name: its values (by-file) are not copied',
      'apps/only.json:1 Secret db: its values (by-json) are not copied',
      'clusters/live/apps.yaml:1 Secret db: its values (by-flux) are not copied',
    ]);
  });

  it('copies no secret of patches that are transformers of Kustomize', async () => {
    const patch = (key: string): string =>
      `'[{"op": "add", "path": "/stringData/${key}", "value": "correct-horse"}]'`;
    const { report, files } = await importFiles(
      {
        'clusters/live/apps.yaml': kustomization('apps', '  path: ./apps\n'),
        'apps/kustomization.yaml': `resources: [db.yaml]
transformers:
  - one.yaml
  - two.yaml
  - |-
    {apiVersion: builtin, kind: PatchTransformer, metadata: {name: three}, target: {kind: Secret}, patch: ${patch('three')}}
`,
        'apps/one.yaml': `apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: one}\ntarget: {name: db}\npatch: ${patch('one')}\n`,
        'apps/two.yaml': `apiVersion: builtin\nkind: PatchJson6902Transformer\nmetadata: {name: two}\ntarget: {version: v1, kind: Secret, name: db}\njsonOp: ${patch('two')}\n`,
        'apps/db.yaml':
          '{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db", "namespace": "shop"}, "stringData": {"a": "correct-horse"}}\n',
      },
      programs,
      { tool: 'flux' },
    );
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
    expect(summary(report)).toEqual(['live: 1 equal']);
    expect(notesOf(report, 'decide')).toHaveLength(4);
  });

  it('asks for every key of a Secret that several files make', async () => {
    const secret = (keys: string): string =>
      `{apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {${keys}}}\n`;
    const { report, files } = await importFiles(
      {
        'clusters/live/apps.yaml': kustomization('apps', '  path: ./apps/live\n  targetNamespace: shop\n'),
        'apps/base/kustomization.yaml': `resources: [db.yaml]
secretGenerator:
  - {name: made, envs: [made.env], options: {disableNameSuffixHash: true}}
`,
        'apps/base/made.env': '# comment\n  USER=me\nPASSWORD=correct=horse\n',
        'apps/base/db.yaml': secret('user: me, password: correct-horse, old: correct-horse'),
        'apps/live/kustomization.yaml': 'resources: [../base]\npatches: [{path: db.yaml}]\n',
        'apps/live/db.yaml': secret('password: correct-horse, old: null'),
      },
      programs,
      { tool: 'flux' },
    );
    const all = Object.values(files).join('\n');
    expect(all).not.toMatch(/correct.horse/);
    expect(summary(report)).toEqual(['live: 2 equal']);
    const folder = 'apps/apps/live-live/source/apps';
    const keys = 'fleet-ferry/secret-keys: password=db.password,user=db.user';
    expect(files[`${folder}/base/db.yaml`]?.replaceAll('"', '')).toMatch(keys);
    expect(files[`${folder}/live/db.yaml`]?.replaceAll('"', '')).toMatch(keys);
    expect(all).not.toContain('db.old');
    expect(files[`${folder}/base/kustomization.yaml`]).toContain('USER=made.USER,PASSWORD=made.PASSWORD');
    expect(files[`${folder}/base/made.env`]).toBeUndefined();
  });

  it('copies no value of a release that a variable fills', async () => {
    const { files } = await importFiles(
      {
        'clusters/live/apps.yaml': kustomization(
          'apps',
          '  path: ./apps\n  postBuild: {substitute: {a: b}}\n',
        ),
        'apps/mixed.yaml': `${deployment('web')}---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: cache, namespace: shop}
spec:
  chart: {spec: {chart: ./chart, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  values: {auth: {password: "\${PW}"}}
`,
        ...chart('chart'),
      },
      programs,
      { tool: 'flux', variables: ['PW=correct-horse'] },
    );
    expect(Object.values(files).join('\n')).not.toContain('correct-horse');
  });

  it('lists what it cannot write, with file and line', async () => {
    const { report } = await importFiles(
      {
        ...fleet,
        'clusters/staging/more.yaml': [
          kustomization('paused', '  path: ./apps/base\n  suspend: true\n'),
          kustomization('elsewhere', '  path: .\n').replace('name: flux-system}', 'name: other}'),
          'apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: other, namespace: flux-system}\nspec: {url: https://git.example/other}\n',
          kustomization('broken', '  path: ./nowhere\n'),
          'apiVersion: notification.toolkit.fluxcd.io/v1beta3\nkind: Alert\nmetadata: {name: alarm, namespace: flux-system}\nspec: {}\n',
        ].join('---\n'),
      },
      programs,
      { tool: 'flux' },
    );
    expect(notesOf(report, 'unmapped')).toEqual([
      'clusters/staging/more.yaml:1 Kustomization flux-system/paused: it is suspended, so Flux applies nothing of it',
      expect.stringContaining(
        'more.yaml:13 Kustomization flux-system/elsewhere: its source, the GitRepository other, is not this repository',
      ),
      expect.stringContaining('more.yaml:29 Kustomization flux-system/broken: there is no folder nowhere'),
      'clusters/staging/more.yaml:40 Alert flux-system/alarm: only Flux reads Alerts',
    ]);
    expect(notesOf(report, 'decide')).toContainEqual(expect.stringContaining('has the range 1.2.x'));
  });

  it('takes the exact version of a chart from the command line', async () => {
    const { report, files } = await importFiles(fleet, programs, {
      tool: 'flux',
      chartVersions: ['https://charts.example/stable/cache=1.2.9'],
    });
    expect(files['apps/cache/workload/workload.yaml']).toContain('version: 1.2.9');
    expect(notesOf(report, 'decide').filter((note) => note.includes('range'))).toEqual([]);
  });

  it('writes the same bytes for the same repository, and overwrites nothing', async () => {
    const one = await importFiles(fleet, programs, { tool: 'flux' });
    const two = await importFiles(fleet, programs, { tool: 'flux' });
    expect(two.files).toEqual(one.files);
    await expect(
      importFiles({ ...fleet, 'apps/base/web.yaml': deployment('other') }, programs, {
        tool: 'flux',
        to: one.to,
      }),
    ).rejects.toMatchObject({ code: 'USAGE', message: expect.stringContaining('already') as string });
  });

  it('makes a cluster type of each cluster that a hub reaches by kubeConfig', async () => {
    const { report } = await importFiles(
      {
        ...fleet,
        'hub/flux-system/gotk-sync.yaml': '# flux bootstrap writes this file.\n',
        'hub/edge.yaml': kustomization(
          'web',
          '  path: ./apps/base\n  kubeConfig: {secretRef: {name: kubeconfig}}\n',
        ).replace('namespace: flux-system', 'namespace: edge'),
      },
      programs,
      { tool: 'flux', clusters: ['hub=hub'] },
    );
    expect(summary(report)).toEqual(['edge: 2 equal']);
    expect(notesOf(report, 'changed')).toEqual([
      'hub/edge.yaml:1 Kustomization edge/web: it is applied to another cluster (kubeConfig), which is a cluster type here',
    ]);
  });

  it('writes nothing where a program that it needs is not installed', async () => {
    const to = join(await temporaryDirectory(), 'platform');
    await expect(importFiles(fleet, ['/nowhere/helm'], { tool: 'flux', to })).rejects.toMatchObject({
      code: 'TOOL_MISSING',
    });
    await expect(readTree(to)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('keeps clusters apart whose folders have the same name', async () => {
    const path = (folder: string): string => kustomization('apps', `  path: ./apps/${folder}\n`);
    const regions = {
      'clusters/eu/production/flux-system/gotk-sync.yaml': sync('./clusters/eu/production'),
      'clusters/eu/production/apps.yaml': path('a'),
      'clusters/us/production/flux-system/gotk-sync.yaml': sync('./clusters/us/production'),
      'clusters/us/production/apps.yaml': path('b'),
      'apps/a/web.yaml': deployment('a'),
      'apps/b/web.yaml': deployment('b'),
    };
    const { report, files } = await importFiles(regions, programs, { tool: 'flux' });
    expect(summary(report)).toEqual(['clusters-eu-production: 1 equal', 'clusters-us-production: 1 equal']);
    expect(Object.keys(files).filter((file) => file.includes('cluster-types'))).toHaveLength(2);
    await expect(
      importFiles(regions, programs, {
        tool: 'flux',
        clusters: ['Edge=clusters/eu/production', 'edge=clusters/us/production'],
      }),
    ).rejects.toMatchObject({
      code: 'USAGE',
      message: 'the clusters Edge and edge would both be the cluster type live/edge',
    });
  });

  it('knows the root of a cluster without a bootstrap, of any name', async () => {
    const root = (name: string, spec: string): string =>
      kustomization(name, spec).replaceAll('flux-system}', 'live}');
    const files = {
      'clusters/live/sync.yaml': root('cluster', '  path: ./clusters/live\n'),
      'clusters/live/web.yaml': deployment('web'),
      'clusters/live/apps.yaml': root('apps', '  path: ./apps\n'),
      'apps/shop.yaml': deployment('shop'),
    };
    const { report } = await importFiles(files, programs, { tool: 'flux' });
    expect(summary(report)).toEqual(['live: 2 equal']);
  });

  it('refuses a repository without a cluster, and takes its folder from a flag', async () => {
    await expect(
      importFiles({ 'web.yaml': deployment('web') }, programs, { tool: 'flux' }),
    ).rejects.toMatchObject({
      code: 'USAGE',
      hint: expect.stringContaining('--cluster <name>=<folder>') as string,
    });
    const { report } = await importFiles({ 'here/web.yaml': deployment('web') }, programs, {
      tool: 'flux',
      clusters: ['edge=here'],
    });
    expect(summary(report)).toEqual(['edge: 1 equal']);
  });
});
