import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { OCI_INDEX, OCI_MANIFEST } from '#bundles/media-types';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { build } from '../../../scheduler/release/build.ts';
import { initDevRoot } from '../../../scheduler/keys/root/init-dev-root.ts';
import { openKeyDirectory } from '../../../scheduler/keys/key-directory.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { applyYaml } from '../../harness/flux/apply-definitions.ts';
import { startFlux } from '../../harness/flux/start-flux.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import type { Cluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type Registry, startRegistry } from '../../harness/neighbours/registry.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { programFile } from '../../harness/run/program-file.ts';

const SCHEDULER = programFile('scheduler');
const GUIDE = join(import.meta.dirname, '../../../docs/reconcilers.md');
const PATIENCE = { timeout: 100_000, interval: 200 };

const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {text: ${JSON.stringify(text)}}\n`;

const secret = (name: string, key: string): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: ${name}, namespace: flux-system}\nstringData: {fleet.pub: ${JSON.stringify(key)}}\n`;

const workload = (name: string, manifests = '{path: manifests}'): string =>
  ours(
    'Workload',
    name,
    `spec:\n  deploymentTargets: [{name: web, environment: prod, manifests: ${manifests}}]\n`,
  );

const registration = (name: string): string =>
  ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: sales\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  );

/** Two applications on one cluster type, whose reconciler is Flux. */
const platform = (reconciler: string, settings: object): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: prod}]\n'),
  'platform/base/edge.yaml': ours(
    'ClusterType',
    'edge',
    `spec: {reconciler: ${reconciler}, namespaceService: guarded-namespace}\n`,
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
  'platform/base/shop.yaml': registration('shop'),
  'platform/base/wiki.yaml': registration('wiki'),
});

describeWith(
  ['kube', 'kwok', 'flux', 'dockerRegistry'],
  'stock Flux, told once',
  ({ kube, kwok, flux, dockerRegistry }) => {
    let cluster: Cluster;
    let registry: Registry;
    let folder: TemporaryDirectory;
    const stack = new AsyncDisposableStack();

    beforeAll(async () => {
      cluster = stack.use(await startOwnCluster({ kube, kwok, nodes: 1 }));
      stack.use(await startFlux(flux, cluster));
      registry = stack.use(await startRegistry(dockerRegistry));
      folder = stack.use(await temporaryDirectory('flux-test'));
      await initDevRoot(join(folder.path, 'keys'), 'halden', new Date());
    }, 300_000);
    afterAll(() => stack.disposeAsync());

    /** What `kubectl get` prints of a field; the first line of what is wrong where it cannot. */
    const field = async (what: string, namespace: string, path: string): Promise<string> => {
      const words = ['get', ...what.split(' '), '-n', namespace, '-o', `jsonpath={${path}}`];
      const { code, stdout, stderr } = await cluster.kubectl(words);
      return code === 0 ? stdout : (stderr.split('\n')[0] ?? '');
    };
    const ready = (what: string): Promise<string> =>
      field(what, 'flux-system', '.status.conditions[?(@.type=="Ready")].message');

    const release = async (): Promise<void> => {
      const outcome = await build({
        platform: join(folder.path, 'platform'),
        maps: [],
        cacheDirectory: join(folder.path, 'cache'),
        layout: join(folder.path, 'releases'),
        keys: await openKeyDirectory(join(folder.path, 'keys')),
        now: new Date(),
        signal: new AbortController().signal,
      });
      expect(outcome.channels.flatMap(({ held }) => held)).toEqual([]);
      const words = ['publish', `oci://${registry.host}/fleet`, '--layout', join(folder.path, 'releases')];
      await runOrFail([process.execPath, SCHEDULER, ...words]);
    };

    it('takes each release from the registry, package by package, and prunes what left', async () => {
      const { public: own } = await (await openKeyDirectory(join(folder.path, 'keys'))).key('bundle');
      await applyYaml(cluster, secret('bundle-signers', own.pem));
      const settings = {
        registry: `${registry.host}/fleet`,
        plainHttp: true,
        interval: '1s',
        cosignSecret: 'bundle-signers',
      };
      await writeFiles(folder.path, {
        ...platform('flux-oci', settings),
        'apps/shop/deploy/shop.yaml': workload('shop'),
        'apps/shop/manifests/text.yaml': configMap('text', 'one'),
        'apps/wiki/deploy/wiki.yaml': workload('wiki'),
        'apps/wiki/manifests/text.yaml': configMap('text', 'wiki'),
      });
      await release();
      const guide = await readFile(GUIDE, 'utf8');
      const [, root = ''] = /```yaml\n# flux-oci root\n(.*?)```/s.exec(guide) ?? [];
      await applyYaml(
        cluster,
        root
          .replace('oci://registry.example/halden/prod/edge', `oci://${registry.host}/fleet/prod/edge`)
          .replace('  ref:\n', '  insecure: true\n  ref:\n')
          .replace('interval: 1m', 'interval: 1s'),
      );
      const shop = 'prod-edge-shop-web';
      const wiki = 'prod-edge-wiki-web';
      await expect.poll(() => field('configmap text', shop, '.data.text'), PATIENCE).toBe('one');
      await expect.poll(() => field('configmap text', wiki, '.data.text'), PATIENCE).toBe('wiki');
      expect(await field('configmap platform-config', shop, '.data')).toBe('{"LOG":"info"}');
      expect(await field('resourcequota assignment', shop, '.spec.hard.pods')).toBe('50');
      await expect
        .poll(() => ready(`kustomization ${shop}`), PATIENCE)
        .toMatch(/^Applied revision: bundle@sha256:[0-9a-f]{64}$/);

      await writeFiles(folder.path, { 'apps/shop/manifests/text.yaml': configMap('text', 'two') });
      await release();
      await expect.poll(() => field('configmap text', shop, '.data.text'), PATIENCE).toBe('two');

      await rm(join(folder.path, 'platform/base/wiki.yaml'));
      await release();
      await expect
        .poll(() => field(`namespace ${wiki}`, 'default', '.metadata.name'), PATIENCE)
        .toContain('not found');
      expect(await field('configmap text', shop, '.data.text')).toBe('two');

      await cluster.kubectl(['delete', 'kustomization,ocirepository', '--all', '-n', 'flux-system']);
      await expect
        .poll(() => field(`namespace ${shop}`, 'default', '.metadata.name'), PATIENCE)
        .toContain('not found');
    }, 600_000);

    /** Flux verifies what a tag names with these keys: what it says of it. */
    const verify = async (name: string, tag: string, key: string): Promise<string> => {
      await applyYaml(
        cluster,
        `${secret(name, key)}---
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: ${name}, namespace: flux-system}
spec:
  interval: 1s
  url: oci://${registry.host}/fleet/prod/edge
  ref: {tag: ${tag}}
  insecure: true
  verify: {provider: cosign, secretRef: {name: ${name}}}
`,
      );
      const condition = '.status.conditions[?(@.type=="SourceVerified")]';
      const said = () => field(`ocirepository ${name}`, 'flux-system', `${condition}['status','message']`);
      await expect.poll(said, PATIENCE).not.toBe('');
      return said();
    };

    it('fetches an application from Git, told by the rendered tree in Git, and prunes what left', async () => {
      await using git = await temporaryDirectory('flux-git');
      await using server = await startGitServer(git.path);
      const at = (name: string): string => join(git.path, name);
      const manifests = `{repo: '${server.url}/shop.git', branch: main, path: deploy}`;
      await writeFiles(git.path, {
        ...platform('flux', { interval: '1s', applyInterval: '1m' }),
        'apps/shop/deploy/shop.yaml': workload('shop', manifests),
        'apps/wiki/deploy/wiki.yaml': workload('wiki', manifests),
        'shop/deploy/text.yaml': configMap('text', 'from Git'),
      });
      await makeGitRepository(at('shop.git'), { main: at('shop') });
      const render = async (): Promise<void> => {
        const words = ['render', '--platform', at('platform'), '--environment', 'prod', '--out', at('tree')];
        await runOrFail([process.execPath, SCHEDULER, ...words]);
      };
      await render();
      await makeGitRepository(at('gitops.git'), { prod: at('tree') });
      await applyYaml(
        cluster,
        `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: gitops, namespace: flux-system}
spec: {interval: 1s, url: '${server.url}/gitops.git', ref: {branch: prod}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: gitops, namespace: flux-system}
spec: {interval: 1m, path: ./edge, prune: true, sourceRef: {kind: GitRepository, name: gitops}}
`,
      );
      for (const name of ['shop', 'wiki'])
        await expect
          .poll(() => field('configmap text', `prod-edge-${name}-web`, '.data.text'), PATIENCE)
          .toBe('from Git');
      await writeFiles(git.path, { 'shop/deploy/text.yaml': configMap('text', 'changed') });
      await commitFolder(at('shop.git'), 'main', at('shop'));
      await expect
        .poll(() => field('configmap text', 'prod-edge-shop-web', '.data.text'), PATIENCE)
        .toBe('changed');
      await rm(at('platform/base/wiki.yaml'));
      await render();
      await commitFolder(at('gitops.git'), 'prod', at('tree'));
      const wiki = () => field('namespace prod-edge-wiki-web', 'default', '.metadata.name');
      await expect.poll(wiki, PATIENCE).toContain('not found');
      expect(await field('configmap text', 'prod-edge-shop-web', '.data.text')).toBe('changed');
    }, 600_000);

    it("spec.verify takes our own statement with the bundle signers' key, and nothing else", async () => {
      const { public: own } = await (await openKeyDirectory(join(folder.path, 'keys'))).key('bundle');
      expect(await verify('own', 'bundle', own.pem)).toMatch(
        /^True verified signature of revision bundle@sha256:/,
      );
      const stranger = loadSigningKey(generatePrivateKey());
      expect(await verify('stranger', 'bundle', stranger.public.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );

      const manifests = `${registry.url}/v2/fleet/prod/edge/manifests`;
      const put = async (tag: string, mediaType: string, body: Uint8Array): Promise<string> => {
        const headers = { 'content-type': mediaType };
        const { status } = await fetch(`${manifests}/${tag}`, { method: 'PUT', headers, body });
        expect(status).toBe(201);
        return digestOf(body);
      };
      const get = async (tag: string, mediaType: string): Promise<Buffer> => {
        const answer = await fetch(`${manifests}/${tag}`, { headers: { accept: mediaType } });
        expect(answer.status).toBe(200);
        return Buffer.from(await answer.arrayBuffer());
      };
      const bytes = await get('bundle', OCI_MANIFEST);
      const forged = Buffer.from(
        JSON.stringify({ ...JSON.parse(bytes.toString()), annotations: { a: 'b' } }),
      );
      const digest = await put('forged', OCI_MANIFEST, forged);
      expect(await verify('unsigned', 'forged', own.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );
      // The real bundle's statement, hung on what was forged.
      const list = await get(digestOf(bytes).replace(':', '-'), OCI_INDEX);
      await put(digest.replace(':', '-'), OCI_INDEX, list);
      expect(await verify('borrowed', 'forged', own.pem)).toMatch(
        /^False failed to verify the signature using provider 'cosign': no /,
      );
    }, 300_000);
  },
);
