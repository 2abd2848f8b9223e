import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { kubectlOf } from '../../harness/parts/kube.ts';
import { type RancherFleet, startRancherFleet } from '../../harness/rancher-fleet/start-rancher-fleet.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';

const PATIENCE = { timeout: 180_000, interval: 500 };

const TEXT =
  'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: one}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n';

const platform = (reconciler: string, manifests: object, settings: object): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: prod}]\n'),
  'platform/base/edge.yaml': ours(
    'ClusterType',
    'edge',
    `spec: {reconciler: ${reconciler}, namespaceService: namespace}\n`,
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
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n',
  ),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: ${JSON.stringify(manifests)}}]\n`,
  ),
});

const NAMESPACE = 'prod-edge-shop-web';
const MAP = `/api/v1/namespaces/${NAMESPACE}/configmaps/text`;
const SERVICE = `/api/v1/namespaces/${NAMESPACE}/services/web`;

describeWith(['kube', 'kwok', 'helm', 'rancherFleet'], 'Rancher Fleet 0.15', (paths) => {
  let cluster: OwnCluster;
  let fleet: RancherFleet;
  let folder: TemporaryDirectory;
  /** Of the repository of charts. */
  let port: number;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('rancher-fleet-test'));
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
    const charts = join(folder.path, 'charts');
    await writeFiles(charts, {
      'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'web/values.yaml': 'text: none\n',
      'web/templates/all.yaml': TEXT.replace('one', '{{ .Values.text }}'),
    });
    await runOrFail([paths.helm, 'package', join(charts, 'web'), '--destination', charts]);
    await runOrFail([paths.helm, 'repo', 'index', charts]);
    const server = createServer((request, response) => {
      readFile(join(charts, new URL(request.url ?? '/', 'http://x').pathname)).then(
        (bytes) => response.end(bytes),
        () => response.writeHead(404).end(),
      );
    });
    port = await freePort();
    await new Promise<void>((resolve) => {
      server.listen(port, '127.0.0.1', resolve);
    });
    stack.defer(() => void server.close());
    fleet = stack.use(
      await startRancherFleet(cluster, {
        ...paths,
        kubectl: kubectlOf(paths.kube),
        reaches: [port],
        labels: { 'fleet-ferry/environment': 'prod', 'fleet-ferry/cluster-type': 'edge' },
      }),
    );
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
  const text = () => field(MAP, 'data', 'text');
  const poll = (what: () => Promise<unknown>) => expect.poll(what, { ...PATIENCE, message: fleet.tail() });
  /** Renders the tree of the environment and applies what it has for the assignment. */
  const applyTree = async (files: Readonly<Record<string, string>>): Promise<string> => {
    await writeFiles(folder.path, files);
    const words = ['render', '--platform', 'platform', '--environment', 'prod', '--out', 'tree'];
    succeed(await runScheduler(folder.path, words));
    const edge = join(folder.path, 'tree/edge');
    const all = await readdir(edge, { recursive: true });
    const reconciler = join(edge, all.find((path) => basename(path) === 'reconciler.yaml') ?? '');
    const tree = dirname(reconciler);
    await kubectl('apply', '--server-side', '-f', tree);
    return reconciler;
  };
  const edit = (name: string): Promise<string> =>
    kubectl('patch', 'configmap', name, '-n', NAMESPACE, '--type=merge', '-p', '{"data":{"text":"by hand"}}');

  /** Returns once its agent has said nothing for a while, so that each edit is corrected separately. */
  const settled = async (): Promise<void> => {
    let before = '';
    await expect
      .poll(
        async () => {
          const now = await fleet.agentLog();
          const isQuiet = now === before;
          before = now;
          return isQuiet;
        },
        { timeout: 180_000, interval: 4000 },
      )
      .toBe(true);
  };
  /** Edits and deletes by hand; each is undone. */
  const expectCorrected = async (): Promise<void> => {
    await poll(text).toBe('one');
    await settled();
    await edit('text');
    await poll(text).toBe('one');
    await settled();
    const patch = '{"spec":{"selector":{"app":"by-hand"}}}';
    await kubectl('patch', 'service', 'web', '-n', NAMESPACE, '--type=merge', '-p', patch);
    await poll(() => field(SERVICE, 'spec', 'selector')).toEqual({ app: 'web' });
    await settled();
    await kubectl('delete', 'configmap', 'text', '-n', NAMESPACE);
    await poll(text).toBe('one');
  };
  const expectRemoved = async (reconciler: string): Promise<void> => {
    await kubectl('delete', '-f', reconciler);
    await poll(text).toBeUndefined();
    await poll(() => field(SERVICE, 'kind')).toBeUndefined();
  };

  const chart = () => ({
    chart: 'web',
    version: '1.0.0',
    repo: `http://127.0.0.1:${port}`,
    values: { text: 'one' },
  });

  it('installs, corrects and removes a chart by the template rancher-fleet-helm', async () => {
    const reconciler = await applyTree(platform('rancher-fleet-helm', chart(), {}));
    await expectCorrected();
    await expectRemoved(reconciler);
  }, 900_000);

  it('keeps an edit with forceDrift: false, and its agent logs the conflict', async () => {
    const reconciler = await applyTree(platform('rancher-fleet-helm', chart(), { forceDrift: false }));
    await poll(text).toBe('one');
    await settled();
    await edit('text');
    await poll(fleet.agentLog).toMatch(/conflict with \\*"kubectl-patch/);
    expect(await text()).toBe('by hand');
    await expectRemoved(reconciler);
  }, 900_000);

  it('fetches, corrects and removes manifests by the template rancher-fleet', async () => {
    await using git = await temporaryDirectory('rancher-fleet-git');
    await using server = await startGitServer(git.path);
    await writeFiles(git.path, { 'shop/deploy/all.yaml': TEXT });
    await makeGitRepository(join(git.path, 'shop.git'), { main: join(git.path, 'shop') });
    const manifests = { repo: `${server.url}/shop.git`, branch: 'main', path: 'deploy' };
    const reconciler = await applyTree(platform('rancher-fleet', manifests, { interval: '15s' }));
    await fleet.runGitJob(NAMESPACE);
    await expectCorrected();
    await expectRemoved(reconciler);
  }, 900_000);
});
