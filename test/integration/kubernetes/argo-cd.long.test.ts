import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { ARGO_CD, type ArgoCd, startArgoCd } from '../../harness/argo-cd/start-argo-cd.ts';
import { applyDefinitions, applyYaml } from '../../harness/flux/apply-definitions.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { reconcilerClusters } from '../../scheduler/deliver/tree/reconciler-clusters.ts';
import { valuedClusters, VALUED } from '../../scheduler/deliver/tree/valued-clusters.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from '../hub/hub-process.ts';
import { KEPT, objects, openWalk } from './takeovers/walk.ts';

const PATIENCE = { timeout: 180_000, interval: 500 };
const DOCS = join(import.meta.dirname, '../../../docs');

const configMap = (text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: ${JSON.stringify(text)}}\n`;

const SERVICE =
  'apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n';

/** Of a kind that the cluster does not know. */
const UNKNOWN = 'apiVersion: lathes.example/v1\nkind: Lathe\nmetadata: {name: lathe}\nspec: {}\n';

/** Two cluster types by one reconciler, and these applications on both. */
const platform = (
  reconciler: string,
  { settings, manifests, names }: { settings: object; manifests: object; names: readonly string[] },
): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: prod}]\n'),
  ...Object.fromEntries(
    ['edge', 'press'].flatMap((name) => [
      [
        `platform/base/${name}.yaml`,
        ours(
          'ClusterType',
          name,
          `  labels: {type: ${name}}\nspec: {reconciler: ${reconciler}, namespaceService: namespace}\n`,
        ),
      ],
      [
        `platform/base/config-${name}.yaml`,
        ours('Config', name, `spec:\n  selector: {type: ${name}}\n  values: {PLACE: ${name}}\n`),
      ],
    ]),
  ),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'all',
    `spec:\n  values: ${JSON.stringify({ LOG: 'info', reconciler: settings })}\n`,
  ),
  ...Object.fromEntries(
    names.flatMap((name) => [
      [
        `platform/base/${name}.yaml`,
        ours(
          'WorkloadRegistration',
          name,
          `spec:\n  workspace: sales\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
        ),
      ],
      [
        `apps/${name}/deploy/${name}.yaml`,
        ours(
          'Workload',
          name,
          `spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: ${JSON.stringify(manifests)}}]\n`,
        ),
      ],
    ]),
  ),
});

const blockOf = async (page: string, title: string): Promise<string> => {
  const text = await readFile(join(DOCS, page), 'utf8');
  const [, block] = new RegExp(`\`\`\`yaml\n# ${title}\n(.*?)\`\`\``, 's').exec(text) ?? [];
  return block ?? expect.fail(`${page} has no block "${title}"`);
};

describeWith(['kube', 'kwok', 'kustomize', 'argoCd', 'redis', 'dockerRegistry'], 'Argo CD 3.1', (paths) => {
  let cluster: OwnCluster;
  let argo: ArgoCd;
  let folder: TemporaryDirectory;
  let registry: Registry;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('argo-cd-test'));
    registry = stack.use(await startRegistry(paths.dockerRegistry));
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
    argo = stack.use(await startArgoCd(cluster, paths));
  }, 300_000);
  afterAll(() => stack.disposeAsync());

  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(args);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const field = async (path: string, ...names: readonly string[]): Promise<unknown> => {
    const { status, body } = await cluster.request('GET', path);
    if (status !== 200) return undefined;
    return names.reduce<unknown>(
      (found, name) => (found as Record<string, unknown> | undefined)?.[name],
      body,
    );
  };
  const configMapIn = (namespace: string, name: string) => () =>
    field(`/api/v1/namespaces/${namespace}/configmaps/${name}`, 'data');
  const text = (namespace: string) => configMapIn(namespace, 'text');
  const application = (name: string): string =>
    `/apis/argoproj.io/v1alpha1/namespaces/${ARGO_CD}/applications/${name}`;
  const stateOf = (name: string) => async () => [
    await field(application(name), 'status', 'sync', 'status'),
    await field(application(name), 'status', 'health', 'status'),
  ];
  const poll = (what: () => Promise<unknown>) => expect.poll(what, { ...PATIENCE, message: argo.tail() });

  /** An Application of a folder of the tree, as the guide tells. */
  const treeApplication = (name: string, repo: string, branch: string, path: string): string =>
    `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: ${name}, namespace: ${ARGO_CD}, finalizers: [resources-finalizer.argocd.argoproj.io]}
spec:
  project: default
  destination: {server: 'https://kubernetes.default.svc', namespace: ${ARGO_CD}}
  source: {repoURL: '${repo}', targetRevision: ${branch}, path: ${path}, directory: {recurse: true}}
  syncPolicy: {automated: {prune: true, selfHeal: true}}
`;
  const removeApplication = async (name: string): Promise<void> => {
    await kubectl('delete', '--namespace', ARGO_CD, `applications.argoproj.io/${name}`, '--wait=false');
    await poll(() => field(application(name), 'kind')).toBeUndefined();
  };
  /** The access that an administrator gives Argo CD: a registry without TLS. */
  const allowRegistry = (prefix: string, channel: string): Promise<void> =>
    applyYaml(
      cluster,
      `apiVersion: v1
kind: Secret
metadata: {name: '${`${prefix}-${channel}`.replaceAll('/', '-')}', namespace: ${ARGO_CD}, labels: {argocd.argoproj.io/secret-type: repository}}
stringData: {type: oci, url: 'oci://${registry.host}/${prefix}/${channel}', insecureOCIForceHttp: 'true'}
`,
    );
  /** Edits and deletes by hand; each is undone. A field that the application does not set stays. */
  const expectCorrected = async (namespace: string): Promise<void> => {
    const patch = (data: object) =>
      kubectl('patch', 'configmap', 'text', '-n', namespace, '--type=merge', '-p', JSON.stringify({ data }));
    await patch({ text: 'by hand' });
    await poll(text(namespace)).toEqual({ text: 'one' });
    await kubectl('delete', 'configmap', 'text', '--namespace', namespace);
    await poll(text(namespace)).toEqual({ text: 'one' });
    await patch({ more: 'by hand', text: 'by hand' });
    await poll(text(namespace)).toEqual({ text: 'one', more: 'by hand' });
  };

  it('argocd: applies what the tree names from Git, for each cluster type its own, corrects and prunes', async () => {
    await using git = await temporaryDirectory('argo-git');
    await using server = await startGitServer(git.path);
    const at = (name: string): string => join(git.path, name);
    const manifests = { repo: `${server.url}/shop.git`, branch: 'main', path: 'deploy' };
    await writeFiles(git.path, {
      ...platform('argocd', { settings: {}, manifests, names: ['shop', 'wiki'] }),
      'platform/base/sales.yaml': ours('Workspace', 'sales', `spec: {repositories: ['${server.url}/']}\n`),
      'shop/deploy/text.yaml': configMap('one'),
      'shop/deploy/service.yaml': SERVICE,
    });
    await makeGitRepository(at('shop.git'), { main: at('shop') });
    const render = async (): Promise<void> => {
      const words = ['render', '--platform', 'platform', '--environment', 'prod', '--out', 'tree'];
      succeed(await runScheduler(git.path, words));
    };
    await render();
    await makeGitRepository(at('gitops.git'), { prod: at('tree') });
    for (const type of ['edge', 'press'])
      await applyYaml(cluster, treeApplication(`tree-${type}`, `${server.url}/gitops.git`, 'prod', type));
    for (const type of ['edge', 'press']) {
      for (const name of ['shop', 'wiki'])
        await poll(text(`prod-${type}-${name}-web`)).toEqual({ text: 'one' });
      await poll(configMapIn(`prod-${type}-shop-web`, 'platform-config')).toEqual({
        LOG: 'info',
        PLACE: type,
      });
    }
    const shop = 'prod-edge-shop-web';
    await poll(stateOf(shop)).toEqual(['Synced', 'Healthy']);
    await expectCorrected(shop);
    await writeFiles(git.path, { 'shop/deploy/text.yaml': configMap('two') });
    await rm(at('shop/deploy/service.yaml'));
    await commitFolder(at('shop.git'), 'main', at('shop'));
    await poll(text(shop)).toMatchObject({ text: 'two' });
    await poll(() => field(`/api/v1/namespaces/${shop}/services/web`, 'kind')).toBeUndefined();
    await rm(at('platform/base/wiki.yaml'));
    await render();
    await commitFolder(at('gitops.git'), 'prod', at('tree'));
    await poll(() => field('/api/v1/namespaces/prod-edge-wiki-web', 'kind')).toBeUndefined();
    await poll(() => field(application('prod-edge-wiki-web'), 'kind')).toBeUndefined();
    expect(await text(shop)()).toMatchObject({ text: 'two' });
    for (const type of ['edge', 'press']) await removeApplication(`tree-${type}`);
    await poll(() => field(`/api/v1/namespaces/${shop}`, 'kind')).toBeUndefined();
  }, 900_000);

  it('argocd-oci: applies each release from the registry, and its notifications give the hub state and error', async () => {
    await using office = await startOffice();
    const prefix = 'acme';
    const release = async (more: Readonly<Record<string, string>>): Promise<void> => {
      await writeFiles(office.path, more);
      await office.scheduler('build', '--platform', 'platform');
      await office.scheduler('publish', `oci://${registry.host}/${prefix}`);
    };
    await release({
      ...platform('argocd-oci', {
        settings: { registry: `${registry.host}/${prefix}` },
        manifests: { path: 'manifests' },
        names: ['shop', 'wiki'],
      }),
      'apps/shop/manifests/text.yaml': configMap('one'),
      'apps/wiki/manifests/text.yaml': configMap('wiki'),
    });
    const words = ['sites', 'follow', 'plant-7/edge', '--by', 'argo-cd', '--channel', 'prod/edge', '--json'];
    const { token, path } = JSON.parse((await office.scheduler(...words)).stdout) as Record<string, string>;
    await using hub = await office.serve();
    await argo.trust('127.0.0.1', office.authority);
    await applyYaml(cluster, await notificationsOf(`${hub.url}${path}`, token ?? ''));
    const root = await blockOf('reconcilers.md', 'argocd-oci root');
    for (const type of ['edge', 'press']) {
      await allowRegistry(prefix, `prod/${type}`);
      const here = root
        .replace('oci://registry.example/halden/prod/edge', `oci://${registry.host}/${prefix}/prod/${type}`)
        .replace(
          'name: fleet\n',
          `name: fleet-${type}\n  finalizers: [resources-finalizer.argocd.argoproj.io]\n`,
        );
      await applyYaml(cluster, here);
    }
    for (const type of ['edge', 'press']) {
      await poll(text(`prod-${type}-shop-web`)).toEqual({ text: 'one' });
      await poll(configMapIn(`prod-${type}-shop-web`, 'platform-config')).toEqual({
        LOG: 'info',
        PLACE: type,
      });
    }
    const shop = 'prod-edge-shop-web';
    await poll(stateOf(shop)).toEqual(['Synced', 'Healthy']);
    const states = () => statesOf(office);
    await poll(states).toEqual([
      ['shop-web', 'complies', 1],
      ['wiki-web', 'complies', 1],
    ]);
    await expectCorrected(shop);

    await release({ 'apps/shop/manifests/lathe.yaml': UNKNOWN });
    // Argo CD tries a failed sync five times, for almost three minutes, and until then it counts as running.
    await expect.poll(states, { timeout: 400_000, interval: 1000, message: argo.tail() }).toEqual([
      ['shop-web', 'failed', 2],
      ['wiki-web', 'complies', 2],
    ]);
    const { stdout: history } = await office.scheduler('history', 'plant-7/edge', '--json');
    expect(history).toContain('synchronization tasks are not valid');
    expect(await text(shop)()).toMatchObject({ text: 'one' });

    await rm(join(office.path, 'apps/shop/manifests/lathe.yaml'));
    await rm(join(office.path, 'platform/base/wiki.yaml'));
    await release({ 'apps/shop/manifests/text.yaml': configMap('two') });
    await poll(text(shop)).toMatchObject({ text: 'two' });
    await poll(() => field('/api/v1/namespaces/prod-edge-wiki-web', 'kind')).toBeUndefined();
    // Argo CD does not notify of a removal.
    await poll(states).toEqual([
      ['shop-web', 'complies', 3],
      ['wiki-web', 'extra', undefined],
    ]);
    for (const type of ['edge', 'press']) await removeApplication(`fleet-${type}`);
    await poll(() => field(`/api/v1/namespaces/${shop}`, 'kind')).toBeUndefined();
  }, 900_000);

  it('argocd: applies the folder of a cluster with the values of its site, and a value that changes', async () => {
    await using tree = await valuedClusters({
      ...VALUED,
      'base/press.yaml': ours(
        'ClusterType',
        'press',
        'spec: {reconciler: argocd, configType: configmap, namespaceService: namespace}\n',
      ),
    });
    await tree.office.build();
    await tree.follow('plant-7/edge', { region: 'north' });
    await tree.compose();
    await tree.set('plant-7', { lineNumber: 7 });
    await tree.deliver();
    await using server = await startGitServer(dirname(tree.gitops));
    const place = 'clusters/plant-7/edge';
    await applyYaml(cluster, treeApplication('tree', `${server.url}/gitops.git`, 'dev', place));
    const common = { LEVEL: 'base', LINE: '0' };
    const web = configMapIn('dev-press-shop-web', 'platform-config');
    await poll(web).toEqual({ ...common, gateway: '10.7.0.1' });
    await poll(configMapIn('dev-press-monitor-probe', 'platform-config')).toEqual({ ...common, LINE: '7' });
    await tree.set('plant-7', { gateway: '10.9.9.9' });
    await tree.deliver();
    await poll(web).toEqual({ ...common, gateway: '10.9.9.9' });
    await removeApplication('tree');
  }, 600_000);

  it('argocd-oci: puts the values of the site into objects of the bundle by the patches of the folder', async () => {
    const prefix = 'valued';
    await using tree = await reconcilerClusters('argocd-oci', {
      settings: { registry: `${registry.host}/${prefix}` },
    });
    await applyDefinitions(cluster, await lineDefinition(folder.path));
    await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: 'dev-press-monitor-probe' } });
    const { path } = folder;
    const published = ['publish', `oci://${registry.host}/${prefix}`, '--layout', tree.office.layout];
    succeed(await runScheduler(path, published));
    await allowRegistry(prefix, 'dev/press');
    await tree.deliver();
    await using server = await startGitServer(dirname(tree.gitops));
    const place = 'clusters/plant-8/edge';
    await applyYaml(cluster, treeApplication('tree', `${server.url}/gitops.git`, 'dev', place));
    const namespace = 'dev-press-monitor-probe';
    await poll(configMapIn(namespace, 'web')).toEqual({ speed: '30' });
    await poll(configMapIn(namespace, 'platform-config')).toEqual({ LEVEL: "it's {{ here }}", LINE: '8' });
    await poll(() =>
      field(`/apis/lines.example/v1/namespaces/${namespace}/lines/web`, 'spec', 'belts'),
    ).toEqual([{ speed: 2 }]);
    await tree.set('plant-8', { lineNumber: 9 });
    await tree.deliver();
    await poll(configMapIn(namespace, 'platform-config')).toMatchObject({ LINE: '9' });
    await removeApplication('tree');
  }, 600_000);

  it('gives its objects to the agent without a restart, and takes them back', async () => {
    const namespace = 'walk-argo-cd';
    const walk = openWalk(cluster, folder.path);
    await using git = await temporaryDirectory('argo-walk');
    await using server = await startGitServer(git.path);
    await writeFiles(join(git.path, 'tree'), {
      'all/namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n`,
      'all/objects.yaml': objects(namespace, ['a', 'b']),
    });
    await makeGitRepository(join(git.path, 'tree.git'), { main: join(git.path, 'tree') });
    const application = treeApplication('walk', `${server.url}/tree.git`, 'main', 'all');
    await applyYaml(cluster, application);
    await poll(() => walk.podsIn(namespace)).toHaveLength(2);
    await poll(stateOf('walk')).toEqual(['Synced', 'Healthy']);
    const pods = await walk.podsIn(namespace);
    await using site = await walk.newSite();
    const wanted = (keys: readonly string[]) => [pack('web', objects(namespace, keys, KEPT))];
    expect(await site.release(wanted(['a', 'b']))).toMatchObject([
      {
        code: 'PATH_CLAIMED',
        message: expect.stringContaining('belongs to Argo CD (argocd.argoproj.io/tracking-id: walk)'),
      },
    ]);
    // What `argocd app delete --cascade=false` does.
    const name = ['--namespace', ARGO_CD, 'applications.argoproj.io/walk'];
    await kubectl('patch', ...name, '--type=merge', '--patch', '{"metadata":{"finalizers":null}}');
    await kubectl('delete', ...name);
    expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
    expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'created' }]);
    expect(await walk.podsIn(namespace)).toEqual(pods);
    expect(await walk.marksIn(namespace)).not.toMatch(/argocd/);
    await site.release(wanted(['a', 'c']));
    expect(await walk.keysIn(namespace)).toEqual(['a', 'c']);
    await site.release([]);
    expect(await walk.marksIn(namespace)).not.toMatch(/fleet-ferry\/assignment|"fleet-agent"/);
    await applyYaml(cluster, application);
    await poll(stateOf('walk')).toEqual(['Synced', 'Healthy']);
    // What only the package had stays: Argo CD takes no field from the manager that kubectl and Flux take over.
    await poll(() => walk.keysIn(namespace)).toEqual(['a', 'b', 'c']);
    await removeApplication('walk');
  }, 600_000);
});

const statesOf = async (office: Office) => {
  const { rows } = JSON.parse((await office.scheduler('status', '--json')).stdout) as {
    rows: { assignment: string; verdict: string; desired: { version: number } | null }[];
  };
  return rows.map(({ assignment, verdict, desired }) => [assignment, verdict, desired?.version]);
};

/** What the guide has for Argo CD, with this address and token. */
const notificationsOf = async (url: string, token: string): Promise<string> => {
  const page = 'how-to/flux-and-argo-cd.md';
  const data = (await blockOf(page, 'notifications of Argo CD')).replace(
    'https://hub.example:8443/v1/followers/plant-7/edge/argo-cd',
    url,
  );
  return `apiVersion: v1
kind: Secret
metadata: {name: argocd-notifications-secret, namespace: ${ARGO_CD}}
stringData: {fleet-ferry-token: '${token}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: argocd-notifications-cm, namespace: ${ARGO_CD}}
${data}`;
};

/** The kind of reconcilerClusters. */
const lineDefinition = async (folder: string): Promise<string> => {
  const schema = '{type: object, x-kubernetes-preserve-unknown-fields: true}';
  await writeFiles(folder, {
    'line.yaml': `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lines.lines.example}
spec:
  group: lines.example
  scope: Namespaced
  names: {kind: Line, plural: lines, singular: line, listKind: LineList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: ${schema}}}]
`,
  });
  return join(folder, 'line.yaml');
};
