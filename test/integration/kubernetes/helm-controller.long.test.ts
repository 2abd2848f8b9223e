import { readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { gitKustomization } from '../../harness/flux/git-kustomization.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from '../hub/hub-process.ts';
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
  ['kube', 'kwok', 'helm', 'kustomize', 'flux', 'fluxHelm', 'dockerRegistry'],
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
  },
);
