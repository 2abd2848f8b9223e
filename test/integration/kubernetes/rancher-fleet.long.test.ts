import { appendFile, mkdir, readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lookAtAdoptions } from '../../../agent/apply/look-at-adoptions.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { kubectlOf } from '../../harness/parts/kube.ts';
import { type RancherFleet, startRancherFleet } from '../../harness/rancher-fleet/start-rancher-fleet.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runCommand, runOrFail, succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { startOffice } from '../hub/hub-process.ts';
import { ALWAYS, KEPT, objects, openWalk } from './takeovers/walk.ts';

const PATIENCE = { timeout: 180_000, interval: 500 };

const TEXT =
  'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text}\ndata: {text: one}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: web}, ports: [{port: 80}]}\n';

/** Of a kind that no cluster knows. */
const UNKNOWN = 'apiVersion: lathes.example/v1\nkind: Lathe\nmetadata: {name: lathe}\nspec: {}\n';

/** @param from the repositories that teams may name, by the beginning of their address */
const platform = (
  reconciler: string,
  manifests: object,
  { from, ...settings }: { readonly from: string } & Readonly<Record<string, unknown>>,
): Record<string, string> => ({
  'platform/base/sales.yaml': ours('Workspace', 'sales', `spec: {repositories: ['${from}']}\n`),
  'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: prod}]\n'),
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

const channel = (type: string) => ({ 'fleet-ferry/environment': 'prod', 'fleet-ferry/cluster-type': type });
const follower = (site: string, agent: string) => ({ 'fleet-ferry/site': site, 'fleet-ferry/agent': agent });

const NAMESPACE = 'prod-edge-shop-web';
const MAP = `/api/v1/namespaces/${NAMESPACE}/configmaps/text`;
const SERVICE = `/api/v1/namespaces/${NAMESPACE}/services/web`;

describeWith(['kube', 'kwok', 'helm', 'rancherFleet'], 'Rancher Fleet 0.15', (paths) => {
  /** Of the controllers, and of the Cluster `edge`. */
  let cluster: OwnCluster;
  /** Of the Cluster `press`. */
  let press: OwnCluster;
  let fleet: RancherFleet;
  let folder: TemporaryDirectory;
  /** Of the repository of charts. */
  let port: number;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('rancher-fleet-test'));
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
    press = stack.use(await startOwnCluster({ ...paths, nodes: 0 }));
    const charts = join(folder.path, 'charts');
    await writeFiles(charts, {
      'web/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
      'web/values.yaml': 'text: none\n',
      'web/templates/all.yaml': TEXT.replace('one', '{{ .Values.text }}'),
      'broken/Chart.yaml': 'apiVersion: v2\nname: web\nversion: 2.0.0\n',
      'broken/templates/lathe.yaml': UNKNOWN,
    });
    for (const name of ['web', 'broken'])
      await runOrFail([paths.helm, 'package', join(charts, name), '--destination', charts]);
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
        clusters: {
          edge: { cluster, labels: { ...channel('edge'), ...follower('plant-7', 'edge') } },
          press: { cluster: press, labels: { ...channel('press'), ...follower('plant-8', 'press') } },
        },
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
          const now = await fleet.agentLog('edge');
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

  const charts = () => `http://127.0.0.1:${port}/`;
  const chart = () => ({
    chart: 'web',
    version: '1.0.0',
    repo: charts(),
    values: { text: 'one' },
  });

  it('installs, corrects and removes a chart by the template rancher-fleet-helm', async () => {
    const reconciler = await applyTree(platform('rancher-fleet-helm', chart(), { from: charts() }));
    await expectCorrected();
    await expectRemoved(reconciler);
  }, 900_000);

  it('gives the clusters of each type what the tree has for it, with its own configuration', async () => {
    const chartOf = (text: string) => ({ ...chart(), values: { text } });
    await using both = await temporaryDirectory('rancher-fleet-both');
    await writeFiles(both.path, {
      ...platform('rancher-fleet-helm', chartOf('one'), { from: charts() }),
      'platform/base/press.yaml': ours(
        'ClusterType',
        'press',
        'spec: {reconciler: rancher-fleet-helm, namespaceService: namespace}\n',
      ),
    });
    const words = ['render', '--platform', 'platform', '--environment', 'prod', '--out', 'tree'];
    succeed(await runScheduler(both.path, words));
    for (const type of ['edge', 'press'])
      await kubectl('apply', '--server-side', '--recursive', '-f', join(both.path, 'tree', type));
    const textIn = (of: OwnCluster, type: string) => async () => {
      const path = `/api/v1/namespaces/prod-${type}-shop-web/configmaps/text`;
      const { status, body } = await of.request('GET', path);
      return status === 200 ? (body as { readonly data: object }).data : undefined;
    };
    for (const [of, type] of [
      [cluster, 'edge'],
      [press, 'press'],
    ] as const)
      await poll(textIn(of, type)).toEqual({ text: 'one' });
    expect(await textIn(cluster, 'press')()).toBeUndefined();
    expect(await textIn(press, 'edge')()).toBeUndefined();
    await kubectl('delete', '--recursive', '-f', join(both.path, 'tree', 'press'));
    await poll(textIn(press, 'press')).toBeUndefined();
    expect(await textIn(cluster, 'edge')()).toEqual({ text: 'one' });
    await kubectl('delete', '--recursive', '-f', join(both.path, 'tree', 'edge'));
    await poll(textIn(cluster, 'edge')).toBeUndefined();
  }, 900_000);

  it('has its state and error counted at the hub by the job of the guide, from the folder of a cluster', async () => {
    await using office = await startOffice();
    const at = (name: string): string => join(office.path, name);
    const release = async (version: string): Promise<void> => {
      await writeFiles(
        office.path,
        platform('rancher-fleet-helm', { ...chart(), version }, { from: charts() }),
      );
      await office.scheduler('build', '--platform', 'platform');
    };
    await release('1.0.0');
    await writeFiles(at('start'), { 'README.md': 'by hand\n' });
    await makeGitRepository(at('gitops.git'), { main: at('start') });
    const settings = `tree: git+${pathToFileURL(at('gitops.git')).href}\ntreeClusters: true\nplatform: platform\npoll: 1s\n`;
    await appendFile(at('fleet-scheduler.yaml'), settings);
    const follow = ['sites', 'follow', 'plant-7/edge', '--by', 'rancher-fleet', '--channel', 'prod/edge'];
    const { token = '', path = '' } = JSON.parse(
      (await office.scheduler(...follow, '--json')).stdout,
    ) as Record<string, string>;
    await using hub = await office.serve();
    await writeFiles(office.path, { 'hub.pem': office.authority });
    const git = (...words: readonly string[]) => runCommand(['git', '--git-dir', at('gitops.git'), ...words]);
    /** Applies the folder once the hub has written the chart of this version. */
    const applyFolder = async (version: string): Promise<void> => {
      const file = 'prod:clusters/plant-7/edge/shop-web/reconciler.yaml';
      await poll(async () => (await git('show', file)).stdout).toContain(version);
      succeed(await git('--work-tree', at('tree'), 'checkout', '--force', 'prod', '--', '.'));
      const place = join(at('tree'), 'clusters/plant-7/edge');
      await kubectl('apply', '--server-side', '--recursive', '-f', place);
    };
    const script = await jobOf();
    /** One run of the job, and what the hub then says. */
    const states = async () => {
      succeed(
        await runCommand(['sh', '-euc', script], {
          env: {
            PATH: `${dirname(kubectlOf(paths.kube))}:${process.env['PATH']}`,
            HOME: office.path,
            KUBECONFIG: cluster.kubeconfig,
            namespace: fleet.namespaceOf('edge'),
            token,
            hub: `${hub.url}${path}`,
            ca: at('hub.pem'),
          },
        }),
      );
      const { rows } = JSON.parse((await office.scheduler('status', '--json')).stdout) as {
        rows: {
          assignment: string;
          verdict: string;
          desired: { version: number } | null;
          follower: string;
        }[];
      };
      return rows.map((row) => [row.assignment, row.verdict, row.desired?.version, row.follower]);
    };
    await mkdir(at('tree'));
    await applyFolder('1.0.0');
    await poll(states).toEqual([['shop-web', 'complies', 1, 'rancher-fleet']]);
    expect(await text()).toBe('one');

    await release('2.0.0');
    await applyFolder('2.0.0');
    await poll(states).toEqual([['shop-web', 'failed', 2, 'rancher-fleet']]);
    const { stdout: history } = await office.scheduler('history', 'plant-7/edge', '--json');
    expect(history).toContain('no matches for kind');

    await release('1.0.0');
    await applyFolder('1.0.0');
    await poll(states).toEqual([['shop-web', 'complies', 3, 'rancher-fleet']]);
    await kubectl('delete', '--recursive', '-f', join(at('tree'), 'clusters/plant-7/edge'));
    await poll(text).toBeUndefined();
  }, 900_000);

  it('keeps an edit with forceDrift: false, and its agent logs the conflict', async () => {
    const reconciler = await applyTree(
      platform('rancher-fleet-helm', chart(), { from: charts(), forceDrift: false }),
    );
    await poll(text).toBe('one');
    await settled();
    await edit('text');
    await poll(() => fleet.agentLog('edge')).toMatch(/conflict with \\*"kubectl-patch/);
    expect(await text()).toBe('by hand');
    await expectRemoved(reconciler);
  }, 900_000);

  it('fetches, corrects and removes manifests by the template rancher-fleet', async () => {
    await using git = await temporaryDirectory('rancher-fleet-git');
    await using server = await startGitServer(git.path);
    await writeFiles(git.path, { 'shop/deploy/all.yaml': TEXT });
    await makeGitRepository(join(git.path, 'shop.git'), { main: join(git.path, 'shop') });
    const manifests = { repo: `${server.url}/shop.git`, branch: 'main', path: 'deploy' };
    const reconciler = await applyTree(
      platform('rancher-fleet', manifests, { from: `${server.url}/`, interval: '15s' }),
    );
    await fleet.runGitJob(NAMESPACE);
    await expectCorrected();
    await expectRemoved(reconciler);
  }, 900_000);

  describe('a takeover', () => {
    type Deployment = {
      readonly spec?: {
        readonly deploymentID: string;
        readonly options?: { readonly keepResources?: boolean };
      };
      readonly status?: {
        readonly appliedDeploymentID?: string;
        readonly ready?: boolean;
        readonly nonModified?: boolean;
      };
    };
    /** A ConfigMap and a Deployment that Fleet deploys as one Bundle, and keeps as they are. */
    const openBundle = (name: string, more: object = {}) => {
      const namespace = `walk-${name}`;
      const walk = openWalk(cluster, folder.path);
      const address = ['-n', 'fleet-default', `bundles.fleet.cattle.io/${name}`];
      const deployments = `/apis/fleet.cattle.io/v1alpha1/namespaces/${fleet.namespaceOf('edge')}/bundledeployments`;
      const deployment = async (): Promise<Deployment | undefined> =>
        (await field(`${deployments}/${name}`)) as Deployment | undefined;
      const apply = (changed: object = {}): Promise<void> =>
        applyYaml(
          cluster,
          JSON.stringify({
            apiVersion: 'fleet.cattle.io/v1alpha1',
            kind: 'Bundle',
            metadata: { name, namespace: 'fleet-default' },
            spec: {
              defaultNamespace: namespace,
              correctDrift: { enabled: true },
              resources: [{ name: 'all.yaml', content: objects(namespace, ['a', 'b']) }],
              targets: [{ clusterSelector: { matchLabels: channel('edge') } }],
              ...more,
              ...changed,
            },
          }),
        );
      /** Returns once its agent has deployed the Bundle. */
      const deployed = (keeps = false): Promise<void> =>
        poll(async () => {
          const { spec, status } = (await deployment()) ?? {};
          const isApplied = spec !== undefined && status?.appliedDeploymentID === spec.deploymentID;
          return [
            spec?.options?.keepResources ?? false,
            isApplied && status?.ready === true && status.nonModified === true,
          ];
        }).toEqual([keeps, true]);
      return {
        namespace,
        walk,
        apply,
        deployed,
        patch: (spec: object): Promise<string> =>
          kubectl('patch', ...address, '--type=merge', '-p', JSON.stringify({ spec })),
        isPaused: async (): Promise<unknown> => field(`${deployments}/${name}`, 'spec', 'paused'),
        /** The records of its Helm release. */
        records: async (): Promise<readonly string[]> => {
          const words = ['-n', namespace, '-l', 'owner=helm', '--output=name'];
          return (await kubectl('get', 'secrets', ...words)).split('\n').filter((line) => line !== '');
        },
        remove: async (): Promise<void> => {
          await kubectl('delete', ...address);
          await poll(deployment).toBeUndefined();
          await settled();
        },
      };
    };

    it('of a Bundle that was deleted with keepResources restarts nothing, and a new Bundle takes the objects back', async () => {
      const { namespace, walk, ...bundle } = openBundle('kept');
      await bundle.apply();
      await bundle.deployed();
      await poll(() => walk.podsIn(namespace)).toHaveLength(2);
      const pods = await walk.podsIn(namespace);
      await using site = await walk.newSite();
      const wanted = (keys: readonly string[], rule: object) => [pack('web', objects(namespace, keys, rule))];
      expect(await site.release(wanted(['a', 'b'], {}))).toMatchObject([
        {
          code: 'PATH_CLAIMED',
          message: expect.stringContaining('belongs to Rancher Fleet (objectset.rio.cattle.io/id: '),
        },
      ]);
      const [listed] = await lookAtAdoptions(site.agent);
      expect(
        listed?.adoptions.map(({ verdict, changes, removes, managers }) => [
          verdict,
          changes,
          removes,
          managers,
        ]),
      ).toEqual([
        ['refused', [], [], ['fleetagent']],
        ['refused', [], [], ['fleetagent']],
      ]);
      await bundle.patch({ keepResources: true });
      await bundle.deployed(true);
      await bundle.remove();
      expect(await bundle.records()).toEqual([]);
      expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
      expect(await site.release(wanted(['a', 'b'], ALWAYS))).toMatchObject([{ outcome: 'created' }]);
      expect(await walk.podsIn(namespace)).toEqual(pods);
      expect(await walk.marksIn(namespace)).not.toMatch(/objectset|fleetagent|helm/i);
      await site.release(wanted(['a'], ALWAYS));
      expect(await walk.keysIn(namespace)).toEqual(['a']);
      // Fleet knows nothing of them any more.
      await settled();
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      // Back: the objects are Fleet's again, as they were.
      await site.release([]);
      expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
      expect(await walk.marksIn(namespace)).toMatch(/objectset/);
      await poll(() => walk.podsIn(namespace)).toHaveLength(2);
      const back = await walk.podsIn(namespace);
      await bundle.apply();
      await bundle.deployed();
      expect(await walk.podsIn(namespace)).toEqual(back);
      await bundle.remove();
      await poll(() => walk.keysIn(namespace)).toEqual([]);
    }, 900_000);

    it('needs no keepResources when the record of the release is deleted first, and takeOwnership leads back', async () => {
      const { namespace, walk, ...bundle } = openBundle('named', { helm: { releaseName: 'shop' } });
      await bundle.apply();
      await bundle.deployed();
      await poll(() => walk.podsIn(namespace)).toHaveLength(2);
      const pods = await walk.podsIn(namespace);
      await bundle.patch({ paused: true });
      await poll(bundle.isPaused).toBe(true);
      await using site = await walk.newSite();
      const wanted = (keys: readonly string[]) => [
        pack('web', objects(namespace, keys, { ...ALWAYS, ...KEPT })),
      ];
      expect(await site.release(wanted(['a', 'b']))).toMatchObject([{ outcome: 'created' }]);
      await kubectl('delete', 'secret', '-n', namespace, '-l', 'owner=helm,name=shop');
      await bundle.remove();
      expect(await walk.podsIn(namespace)).toEqual(pods);
      await site.release(wanted(['a', 'c']));
      expect(await walk.keysIn(namespace)).toEqual(['a', 'c']);
      await settled();
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      await site.release([]);
      expect(await walk.marksIn(namespace)).not.toMatch(/fleet-ferry\/assignment|"fleet-agent"/);
      await bundle.apply({ paused: false, helm: { releaseName: 'shop', takeOwnership: true } });
      await bundle.deployed();
      expect(await walk.marksIn(namespace)).toMatch(/objectset/);
      // As with Argo CD, what only the package had stays.
      expect(await walk.keysIn(namespace)).toEqual(['a', 'b', 'c']);
      await bundle.patch({ keepResources: true });
      await bundle.deployed(true);
      await bundle.remove();
      // A release with a name of its own keeps its record.
      expect(await bundle.records()).not.toEqual([]);
      expect(await walk.keysIn(namespace)).toEqual(['a', 'b', 'c']);
    }, 900_000);

    it('of a Bundle that is deleted without keepResources loses the objects, and the agent creates them again', async () => {
      const { namespace, walk, ...bundle } = openBundle('lost');
      await bundle.apply();
      await bundle.deployed();
      await using site = await walk.newSite();
      await bundle.patch({ paused: true });
      await poll(bundle.isPaused).toBe(true);
      // Fleet deploys nothing of a Bundle that is paused, so that this comes too late.
      await bundle.patch({ keepResources: true });
      await site.release([pack('web', objects(namespace, ['a'], ALWAYS))]);
      await bundle.remove();
      await poll(() => walk.keysIn(namespace)).toEqual([]);
      await observe(site.agent);
      await poll(() => walk.keysIn(namespace)).toEqual(['a']);
    }, 900_000);
  });
});

/** The script of the guide's CronJob. */
const jobOf = async (): Promise<string> => {
  const guide = join(import.meta.dirname, '../../../docs/how-to/flux-and-argo-cd.md');
  const [, block = ''] =
    /```yaml\n# job for Rancher Fleet\n(.*?)```/s.exec(await readFile(guide, 'utf8')) ?? [];
  const job = parse(block) as CronJob;
  const [container] = job.spec.jobTemplate.spec.template.spec.containers;
  return container.command[2];
};

type CronJob = {
  readonly spec: {
    readonly jobTemplate: {
      readonly spec: {
        readonly template: {
          readonly spec: {
            readonly containers: readonly [{ readonly command: readonly [string, string, string] }];
          };
        };
      };
    };
  };
};
