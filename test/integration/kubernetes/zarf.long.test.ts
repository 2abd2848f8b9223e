import { readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { makeBusyboxImage } from '../../harness/kubernetes/busybox-image.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { findProgram } from '../../harness/run/find-program.ts';
import { runCommand, runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { type Office, startOffice } from '../hub/hub-process.ts';

const GUIDE = join(import.meta.dirname, '../../../docs/reconcilers.md');

const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {text: ${JSON.stringify(text)}}\n`;

/** Two cluster types by Zarf, and an application with an image on both. */
const platform = (image: string): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  environments: [{name: prod}]\n'),
  ...Object.fromEntries(
    ['edge', 'press'].flatMap((name) => [
      [
        `platform/base/${name}.yaml`,
        ours(
          'ClusterType',
          name,
          `  labels: {type: ${name}}\nspec: {reconciler: zarf, reconcilerVersion: '0.65', namespaceService: namespace}\n`,
        ),
      ],
      [
        `platform/base/config-${name}.yaml`,
        ours('Config', name, `spec:\n  selector: {type: ${name}}\n  values: {PLACE: ${name}}\n`),
      ],
    ]),
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'all',
    'spec:\n  values: {reconciler: {version: 1.0.0, architecture: amd64}}\n',
  ),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n',
  ),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: {path: manifests, images: ['${image}']}}]\n`,
  ),
  'apps/shop/manifests/text.yaml': configMap('text', 'one'),
});

describeWith(['kube', 'kwok', 'zarf', 'skopeo', 'busybox', 'dockerRegistry'], 'Zarf 0.65', (paths) => {
  let cluster: OwnCluster;
  let folder: TemporaryDirectory;
  let office: Office;
  /** Of the office, and of the site as its Zarf state names it. */
  let registry: Registry;
  let near: Registry;
  let image: string;
  const stack = new AsyncDisposableStack();

  beforeAll(async () => {
    folder = stack.use(await temporaryDirectory('zarf'));
    registry = stack.use(await startRegistry(paths.dockerRegistry));
    near = stack.use(await startRegistry(paths.dockerRegistry));
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1 }));
    office = stack.use(await startOffice());
    const name = `${registry.host}/apps/web:1`;
    const made = await makeBusyboxImage(paths.busybox, join(folder.path, 'image'), { name });
    const copy = ['copy', '--preserve-digests', '--dest-tls-verify=false'];
    await runOrFail([paths.skopeo, ...copy, `oci:${made.layout}:${name}`, `docker://${name}`]);
    image = made.pinned;
    await initialize(cluster, near, folder.path);
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
  const dataOf = (namespace: string, name: string) =>
    field(`/api/v1/namespaces/${namespace}/configmaps/${name}`, 'data');
  const kubectl = async (...words: readonly string[]): Promise<void> => {
    const { code, stderr } = await cluster.kubectl(words);
    expect(code, stderr).toBe(0);
  };
  const release = async (more: Readonly<Record<string, string>>): Promise<void> => {
    await writeFiles(office.path, more);
    await office.scheduler('build', '--platform', 'platform');
    await office.scheduler('publish', `oci://${registry.host}/halden`);
  };
  const env = (): NodeJS.ProcessEnv => ({
    ...process.env,
    PATH: [paths.zarf, dirname(paths.skopeo), process.env['PATH']].join(':'),
    KUBECONFIG: cluster.kubeconfig,
    NO_COLOR: '1',
    ZARF_CONFIG: '',
    HOME: folder.path,
  });
  /** What the guide says, in a folder of its own. */
  const deploy = async (type: string) => {
    const [, block = ''] =
      /```sh\n# zarf package of shop-web\n(.*?)```/s.exec(await readFile(GUIDE, 'utf8')) ?? [];
    const script = block
      .replace('registry.example/', `${registry.host}/`)
      .replace('skopeo copy', 'skopeo copy --src-tls-verify=false')
      .replace('create .', 'create . --skip-sbom')
      .replaceAll('prod/edge', `prod/${type}`)
      .replaceAll('prod-edge', `prod-${type}`);
    expect(script).toContain('zarf package deploy');
    const cwd = join(folder.path, type);
    await rm(cwd, { recursive: true, force: true });
    await writeFiles(cwd, { 'shop-web/.keep': '' });
    return runCommand(['sh', '-euc', script], { cwd, env: env() });
  };
  const deployed = async (type: string): Promise<void> => {
    const { code, stderr } = await deploy(type);
    expect(code, stderr).toBe(0);
  };

  it('deploys the package of each cluster type with its image, corrects, prunes and removes', async () => {
    await release(platform(image));
    for (const type of ['edge', 'press']) {
      await deployed(type);
      expect(await dataOf(`prod-${type}-shop-web`, 'text')).toEqual({ text: 'one' });
      expect(await dataOf(`prod-${type}-shop-web`, 'platform-config')).toEqual({ PLACE: type });
    }
    const digest = image.slice(image.indexOf('@') + 1);
    const headers = { accept: 'application/vnd.oci.image.manifest.v1+json' };
    const there = await fetch(`${near.url}/v2/apps/web/manifests/${digest}`, { headers });
    expect(there.status).toBe(200);

    const shop = 'prod-edge-shop-web';
    const patch = JSON.stringify({ data: { text: 'by hand', more: 'by hand' } });
    await kubectl('patch', 'configmap', 'text', '-n', shop, '--type=merge', '-p', patch);
    await kubectl('delete', 'configmap', 'platform-config', '-n', shop);
    await deployed('edge');
    expect(await dataOf(shop, 'text')).toEqual({ text: 'one', more: 'by hand' });
    expect(await dataOf(shop, 'platform-config')).toEqual({ PLACE: 'edge' });

    await release({ 'apps/shop/manifests/text.yaml': configMap('other', 'two') });
    await deployed('edge');
    expect(await dataOf(shop, 'other')).toEqual({ text: 'two' });
    expect(await dataOf(shop, 'text')).toBeUndefined();
    expect(await dataOf('prod-press-shop-web', 'text')).toEqual({ text: 'one' });

    const remove = [join(paths.zarf, 'zarf'), 'package', 'remove', shop, '--confirm'];
    await runOrFail(remove, { cwd: folder.path, env: env() });
    expect(await dataOf(shop, 'other')).toBeUndefined();
    const { items } = (await cluster.request('GET', `/api/v1/namespaces/${shop}/secrets`)).body as {
      items: { metadata: { name: string } }[];
    };
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['private-git-server', 'private-registry']);
  }, 600_000);

  it('fills in the values of a site from zarf-config.yaml, and ends with the cause where an object is refused', async () => {
    await release({
      ...platform(image),
      'apps/shop/manifests/text.yaml': configMap('text', 'line ###ZARF_VAR_LINE_NUMBER###'),
    });
    await deployed('edge');
    const shop = 'prod-edge-shop-web';
    const place = join(folder.path, 'plant-7');
    const set = { LINE_NUMBER: '7 {{ here }}' };
    await writeFiles(place, { 'zarf-config.yaml': stringify({ package: { deploy: { set } } }) });
    const archive = join(folder.path, `edge/zarf-package-${shop}-amd64-1.0.0.tar.zst`);
    const again = [join(paths.zarf, 'zarf'), 'package', 'deploy', archive, '--confirm'];
    await runOrFail(again, { cwd: place, env: env() });
    expect(await dataOf(shop, 'text')).toEqual({ text: 'line 7 {{ here }}' });

    await release({
      'apps/shop/manifests/text.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: text, labels: {wrong: not a label}}\n',
    });
    const { code, stderr } = await deploy('edge');
    expect(code).toBe(1);
    expect(stderr).toMatch(/a valid label must be/);
    expect(await dataOf(shop, 'text')).toEqual({ text: 'line 7 {{ here }}' });
  }, 600_000);
});

/** What `zarf init` leaves with a registry of the site, without its image. Zarf waits for a pod that runs. */
const initialize = async (cluster: OwnCluster, near: Registry, folder: string): Promise<void> => {
  const [key, certificate] = [join(folder, 'agent.key'), join(folder, 'agent.crt')];
  const openssl = findProgram('openssl') ?? 'openssl';
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const subject = ['-subj', '/CN=agent-hook.zarf.svc', '-addext', 'subjectAltName=DNS:agent-hook.zarf.svc'];
  await runOrFail([openssl, 'req', '-x509', ...curve, '-keyout', key, '-out', certificate, ...subject]);
  const [cert, secret] = [await readFile(certificate, 'base64'), await readFile(key, 'base64')];
  const user = { pushUsername: 'u', pushPassword: 'p', pullUsername: 'u', pullPassword: 'p' };
  const file = join(folder, 'state.json');
  await writeFile(
    file,
    JSON.stringify({
      distro: 'k3s',
      architecture: 'amd64',
      ipFamily: 'ipv4',
      agentTLS: { ca: cert, cert, key: secret },
      gitServer: { ...user, address: 'http://127.0.0.1:9' },
      registryInfo: { ...user, address: near.host, secret: 's' },
      artifactServer: { pushUsername: 'u', pushPassword: 'p', address: 'http://127.0.0.1:9' },
    }),
  );
  await applyYaml(
    cluster,
    `apiVersion: v1
kind: Namespace
metadata: {name: zarf}
---
apiVersion: v1
kind: Secret
metadata: {name: zarf-state, namespace: zarf}
data: {state: ${await readFile(file, 'base64')}}
---
apiVersion: v1
kind: Pod
metadata: {name: any, namespace: zarf}
spec: {containers: [{name: any, image: any}]}
`,
  );
};
