import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import { openLayout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { bundlesOf, readRelease } from '../../../scheduler/load/releases/read-release.ts';
import { type KubernetesPackage, pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { gitKustomization } from '../../harness/flux/git-kustomization.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from '../hub/hub-process.ts';
import { importFiles, summary } from '../scheduler/import/import-world.ts';
import { objects, openWalk } from './takeovers/walk.ts';

const PATIENCE = { timeout: 150_000, interval: 500 };
const DOCS = join(import.meta.dirname, '../../../docs');
const PREFIX = 'acme';

/** A chart of one ConfigMap, whose release fails when `broken` is true. */
const CHART = {
  'values.yaml': 'text: none\nplace: none\nbroken: false\n',
  'templates/text.yaml': `apiVersion: v1
kind: ConfigMap
metadata: {name: text}
data: {text: '{{ .Values.text }}', place: '{{ .Values.place }}'}
{{- if .Values.broken }}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 99999}]}
{{- end }}
`,
};

/** A HelmRelease and the source of its chart, as an application brings them. */
const release = (
  registry: Registry,
  values: string,
  name = 'shop',
): string => `apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: ${name}}
spec:
  interval: 10m
  url: oci://${registry.host}/charts/shop
  insecure: true
  ref: {tag: 1.0.0}
  layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: copy}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: ${name}}
spec:
  interval: 5s
  chartRef: {kind: OCIRepository, name: ${name}}
  driftDetection: {mode: enabled}
  values: ${values}
`;

const FROM_CONFIG = `  valuesFrom: [{kind: ConfigMap, name: platform-config, valuesKey: PLACE, targetPath: place}]\n`;

/** Two cluster types by flux-oci, and two applications on both. */
const platform = (registry: Registry): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: prod}]\n'),
  ...Object.fromEntries(
    ['edge', 'press'].flatMap((name) => [
      [
        `platform/base/${name}.yaml`,
        ours(
          'ClusterType',
          name,
          `  labels: {type: ${name}}\nspec: {reconciler: flux-oci, reconcilerVersion: '2.8', namespaceService: namespace}\n`,
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
    `spec:\n  values: ${JSON.stringify({
      reconciler: {
        registry: `${registry.host}/${PREFIX}`,
        plainHttp: true,
        interval: '1s',
        applyInterval: '5s',
        timeout: '60s',
      },
    })}\n`,
  ),
  ...Object.fromEntries(
    ['shop', 'wiki'].flatMap((name) => [
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
          'spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: {path: manifests}}]\n',
        ),
      ],
      [`apps/${name}/manifests/release.yaml`, release(registry, '{text: one}') + FROM_CONFIG],
    ]),
  ),
});

const blockOf = async (page: string, title: string): Promise<string> => {
  const text = await readFile(join(DOCS, page), 'utf8');
  const [, block] = new RegExp(`\`\`\`yaml\n# ${title}\n(.*?)\`\`\``, 's').exec(text) ?? [];
  return block ?? expect.fail(`${page} has no block "${title}"`);
};

const statesOf = async (office: Office) => {
  const { rows } = JSON.parse((await office.scheduler('status', '--json')).stdout) as {
    rows: { assignment: string; verdict: string; desired: { version: number } | null }[];
  };
  return rows.map(({ assignment, verdict, desired }) => [assignment, verdict, desired?.version]);
};

describeWith(
  ['kube', 'kwok', 'busybox', 'helm', 'kustomize', 'flux', 'fluxHelm', 'dockerRegistry'],
  'Flux with its helm-controller 1.6',
  (paths) => {
    let cluster: OwnCluster;
    let folder: TemporaryDirectory;
    let registry: Registry;
    const stack = new AsyncDisposableStack();

    beforeAll(async () => {
      folder = stack.use(await temporaryDirectory('helm-controller'));
      registry = stack.use(await startRegistry(paths.dockerRegistry));
      cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
      stack.use(await startFlux(paths.flux, cluster, paths.fluxHelm));
      const chart = join(folder.path, 'chart');
      await writeFiles(chart, { ...CHART, 'Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n' });
      await runOrFail([paths.helm, 'package', chart, '--destination', folder.path]);
      const archive = join(folder.path, 'shop-1.0.0.tgz');
      await runOrFail([paths.helm, 'push', archive, `oci://${registry.host}/charts`, '--plain-http']);
    }, 300_000);
    afterAll(() => stack.disposeAsync());

    const field = async (path: string, ...names: readonly string[]): Promise<unknown> => {
      const { status, body } = await cluster.request('GET', path);
      if (status !== 200) return undefined;
      return names.reduce<unknown>(
        (found, name) => (found as Record<string, unknown> | undefined)?.[name],
        body,
      );
    };
    const text = (namespace: string) => () =>
      field(`/api/v1/namespaces/${namespace}/configmaps/text`, 'data');
    const releaseIn = (namespace: string, name = 'shop') =>
      `/apis/helm.toolkit.fluxcd.io/v2/namespaces/${namespace}/helmreleases/${name}`;
    const exists = (namespace: string) => () => field(`/api/v1/namespaces/${namespace}`, 'kind');
    const kubectl = async (...words: readonly string[]): Promise<string> => {
      const { code, stdout, stderr } = await cluster.kubectl(words);
      expect(code, stderr).toBe(0);
      return stdout;
    };
    /** Edits and deletes by hand what the chart made; each is undone. A field that the chart does not set stays. */
    const expectCorrected = async (namespace: string, wanted: object): Promise<void> => {
      const patch = (data: object) =>
        kubectl(
          'patch',
          'configmap',
          'text',
          '-n',
          namespace,
          '--type=merge',
          '-p',
          JSON.stringify({ data }),
        );
      await patch({ text: 'by hand' });
      await expect.poll(text(namespace), PATIENCE).toEqual(wanted);
      await kubectl('delete', 'configmap', 'text', '-n', namespace);
      await expect.poll(text(namespace), PATIENCE).toEqual(wanted);
      await patch({ text: 'by hand', more: 'by hand' });
      await expect.poll(text(namespace), PATIENCE).toEqual({ ...wanted, more: 'by hand' });
    };

    it('flux-oci: installs the charts of a bundle for each cluster type, corrects, uninstalls, and gives the hub state and error', async () => {
      await using office = await startOffice();
      const publish = async (more: Readonly<Record<string, string>>): Promise<void> => {
        await writeFiles(office.path, more);
        await office.scheduler('build', '--platform', 'platform');
        await office.scheduler('publish', `oci://${registry.host}/${PREFIX}`);
      };
      await publish(platform(registry));
      const words = ['sites', 'follow', 'plant-7/edge', '--by', 'flux', '--channel', 'prod/edge', '--json'];
      const { token, path } = JSON.parse((await office.scheduler(...words)).stdout) as Record<string, string>;
      await using hub = await office.serve();
      const notifications = (await blockOf('how-to/flux-and-argo-cd.md', 'notifications of Flux'))
        .replace('<the token>', token ?? '')
        .replace('<PEM>', office.authority.trim().replaceAll('\n', '\n    '))
        .replace('https://hub.example:8443/v1/followers/plant-7/edge/flux', `${hub.url}${path}`);
      await applyYaml(cluster, notifications);
      const root = await blockOf('reconcilers.md', 'flux-oci root');
      for (const type of ['edge', 'press'])
        await applyYaml(
          cluster,
          root
            .replace(
              'oci://registry.example/halden/prod/edge',
              `oci://${registry.host}/${PREFIX}/prod/${type}`,
            )
            .replace('  ref:\n', '  insecure: true\n  ref:\n')
            .replace(/ {2}verify:\n.*?(?=---)/s, '')
            .replace('interval: 1m', 'interval: 1s')
            .replaceAll('name: fleet\n', `name: fleet-${type}\n`),
        );
      for (const type of ['edge', 'press'])
        for (const name of ['shop', 'wiki'])
          await expect.poll(text(`prod-${type}-${name}-web`), PATIENCE).toEqual({ text: 'one', place: type });
      const shop = 'prod-edge-shop-web';
      const states = () => statesOf(office);
      await expect.poll(states, PATIENCE).toEqual([
        ['shop-web', 'complies', 1],
        ['wiki-web', 'complies', 1],
      ]);
      await expectCorrected(shop, { text: 'one', place: 'edge' });

      await publish({
        'apps/shop/manifests/release.yaml': release(registry, '{text: two, broken: true}') + FROM_CONFIG,
      });
      await expect.poll(states, PATIENCE).toEqual([
        ['shop-web', 'failed', 2],
        ['wiki-web', 'complies', 2],
      ]);
      const { stdout: history } = await office.scheduler('history', 'plant-7/edge', '--json');
      expect(history).toMatch(/HelmRelease\/prod-edge-shop-web\/shop status: 'Failed'/);

      await rm(join(office.path, 'platform/base/wiki.yaml'));
      await publish({
        'apps/shop/manifests/release.yaml': release(registry, '{text: two}') + FROM_CONFIG,
      });
      await expect.poll(text(shop), PATIENCE).toMatchObject({ text: 'two' });
      await expect.poll(exists('prod-edge-wiki-web'), PATIENCE).toBeUndefined();
      await expect.poll(states, PATIENCE).toContainEqual(['shop-web', 'complies', 3]);
      await kubectl('delete', '-n', 'flux-system', 'alerts,providers', '--all');
      await kubectl(
        'delete',
        '-n',
        'flux-system',
        'kustomizations,ocirepositories',
        'fleet-edge',
        'fleet-press',
      );
      await expect.poll(exists(shop), PATIENCE).toBeUndefined();
    }, 900_000);

    it('fleet: an agent waits for a HelmRelease, reports why it fails, corrects it, and removes it with its objects', async () => {
      const namespace = 'agent-helm';
      await using site = await openWalk(cluster, folder.path).newSite();
      const helmRelease = (values: string): string =>
        release(registry, values).replaceAll('{name: shop}\n', `{name: shop, namespace: ${namespace}}\n`);
      const shop = (values: string) =>
        pack(
          'shop',
          `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n---\n${helmRelease(values)}`,
        );
      expect(await site.release([shop('{text: one}')])).toMatchObject([{ outcome: 'created' }]);
      expect(await text(namespace)()).toEqual({ text: 'one', place: 'none' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      // What the chart made is not the package's: helm-controller corrects it.
      await expectCorrected(namespace, { text: 'one', place: 'none' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      const name = ['--namespace', namespace, 'helmreleases.helm.toolkit.fluxcd.io/shop'];
      await kubectl('patch', ...name, '--type=merge', '-p', '{"spec":{"values":{"text":"by hand"}}}');
      await expect.poll(text(namespace), PATIENCE).toMatchObject({ text: 'by hand' });
      await observe(site.agent);
      await expect.poll(text(namespace), PATIENCE).toMatchObject({ text: 'one' });

      const [failed] = await site.release([shop('{text: two, broken: true}')]);
      expect(failed).toMatchObject({
        code: 'CHECK_FAILED',
        message: expect.stringMatching(/HelmRelease agent-helm\/shop.*spec\.ports\[0\]\.port/s),
      });
      expect(await site.release([shop('{text: three}')])).toMatchObject([{ outcome: 'configured' }]);
      expect(await text(namespace)()).toMatchObject({ text: 'three' });

      await site.release([pack('shop', `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n`)]);
      expect(await field(releaseIn(namespace), 'kind')).toBeUndefined();
      expect(await text(namespace)()).toBeUndefined();
    }, 300_000);

    it('gives what a HelmRelease installed to the agent by an imported platform, without a restart, and takes it back', async () => {
      const namespace = 'walk-release';
      const walk = openWalk(cluster, folder.path);
      const images = join(folder.path, 'images');
      const image = await makeBusyboxImage(paths.busybox, images, { name: 'registry.example/a:1' });
      const helmRelease = `apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: shop, namespace: ${namespace}}
spec:
  interval: 5s
  chart: {spec: {chart: ./charts/shop, sourceRef: {kind: GitRepository, name: live, namespace: flux-system}}}
`;
      const repository = {
        'clusters/live/sync.yaml': gitKustomization('live', {
          url: 'https://git.example/fleet-infra',
          branch: 'main',
          applies: 'interval: 10m, path: ./clusters/live',
        }),
        'clusters/live/namespace.yaml': `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${namespace}}\n`,
        'clusters/live/release.yaml': helmRelease,
        'charts/shop/Chart.yaml': 'apiVersion: v2\nname: shop\nversion: 1.0.0\n',
        'charts/shop/templates/all.yaml': objects(namespace, ['a', 'b']).replace(
          '"image":"a"',
          `"image":"${image.pinned}"`,
        ),
      };
      await using git = await temporaryDirectory('helm-walk');
      await using server = await startGitServer(git.path);
      const { 'clusters/live/sync.yaml': sync, ...tree } = repository;
      await writeFiles(join(git.path, 'tree'), tree);
      await makeGitRepository(join(git.path, 'tree.git'), { main: join(git.path, 'tree') });
      await applyYaml(cluster, sync.replace('https://git.example/fleet-infra', `${server.url}/tree.git`));
      await expect.poll(() => walk.podsIn(namespace), PATIENCE).toHaveLength(2);
      const pods = await walk.podsIn(namespace);

      const { report, to } = await importFiles(repository, [paths.helm, paths.kustomize], {
        tool: 'flux',
        addresses: ['https://git.example/fleet-infra'],
      });
      expect(summary(report)).toEqual(['live: 3 equal']);
      const packages = await builtPackages(to, images, paths.helm);
      await using site = await walk.newSite();
      expect(await site.release(packages)).toMatchObject([
        { code: 'PATH_CLAIMED', message: expect.stringContaining('belongs to Flux') },
        {
          code: 'PATH_CLAIMED',
          message: expect.stringContaining('belongs to Flux (helm.toolkit.fluxcd.io/name: shop)'),
        },
      ]);
      // As the guide says: suspended and deleted, the outer one first.
      const kustomization = ['-n', 'flux-system', 'kustomizations.kustomize.toolkit.fluxcd.io/live'];
      const flux = ['-n', namespace, 'helmreleases.helm.toolkit.fluxcd.io/shop'];
      for (const name of [kustomization, flux]) {
        await kubectl('patch', ...name, '--type=merge', '-p', '{"spec":{"suspend":true}}');
        await kubectl('delete', ...name);
      }
      expect(await walk.keysIn(namespace)).toEqual(['a', 'b']);
      await kubectl('delete', 'secret', '-n', namespace, '-l', 'owner=helm,name=shop');
      expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }]);
      expect(await walk.podsIn(namespace)).toEqual(pods);
      expect(await walk.marksIn(namespace)).not.toMatch(/helm/i);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }, { drift: [] }]);
      await site.release([]);
      await applyYaml(cluster, sync.replace('https://git.example/fleet-infra', `${server.url}/tree.git`));
      await expect.poll(() => field(releaseIn(namespace), 'status', 'history'), PATIENCE).toHaveLength(1);
      expect(await walk.marksIn(namespace)).not.toMatch(/fleet-ferry/);
      await kubectl('delete', ...kustomization);
      await expect.poll(exists(namespace), PATIENCE).toBeUndefined();
    }, 300_000);
  },
);

/** The packages of the only channel of a platform, as its scheduler builds them. */
const builtPackages = async (
  platform: string,
  images: string,
  helm: string,
): Promise<readonly KubernetesPackage[]> => {
  await using office = await startOffice();
  await runOrFail(
    [process.execPath, programFile('scheduler'), 'build', '--platform', platform, '--images', images],
    {
      cwd: office.path,
      env: { ...process.env, PATH: `${dirname(helm)}:${process.env['PATH']}` },
    },
  );
  const layout = await openLayout(join(office.path, 'layout'));
  const { roots } = await openKeyDirectory(join(office.path, 'keys'));
  const release = await readRelease(layout, { environment: 'live', clusterType: 'live' }, roots);
  const [reference] = release === undefined ? [] : bundlesOf(release);
  if (reference === undefined) throw new Error('no bundle');
  const { config, manifest } = await readBundle(layout.blobs, reference);
  const files = unpackPackages(
    await Promise.all(manifest.layers.map(({ digest, size }) => readBlob(layout.blobs, digest, size))),
  );
  return config.assignments.map(({ id, dependsOn }) => ({
    id,
    files: Object.fromEntries([...(files.get(id) ?? [])].map(([path, bytes]) => [path, String(bytes)])),
    dependsOn,
  }));
};
